// What every page gains from a script: a switch for its colours, and keys that scroll what is wider than the text.
(() => {
  "use strict";

  const root = document.documentElement;
  const button = document.querySelector(".theme-switch");
  const bars = [...document.querySelectorAll("meta[name=theme-color]")].map((meta) => [meta, meta.content]);

  const show = () => {
    const theme = root.dataset.theme;
    if (button) button.title = button.firstElementChild.textContent = button.dataset[theme];
    // The bar of a phone's browser has the paper's colour.
    const paper = getComputedStyle(document.body).backgroundColor;
    for (const [meta, own] of bars) meta.content = theme === "auto" ? own : paper;
  };

  button?.addEventListener("click", () => {
    root.dataset.theme = { auto: "light", light: "dark", dark: "auto" }[root.dataset.theme];
    try {
      localStorage.setItem("theme", root.dataset.theme);
    } catch {
      // It holds for this page then.
    }
    show();
  });
  // Chosen in another tab, or in the admin.
  addEventListener("storage", (event) => {
    if (event.key !== "theme") return;
    root.dataset.theme = ["light", "dark"].includes(event.newValue) ? event.newValue : "auto";
    show();
  });

  // Not every browser lets the keyboard scroll what has nothing to focus in it.
  const reach = () => {
    for (const wide of document.querySelectorAll(".prose pre, .prose table, .comment-text table")) {
      if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
      else wide.removeAttribute("tabindex");
    }
  };

  show();
  reach();
  addEventListener("resize", reach);
})();
