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

  // What stands on another site is fetched from there once a reader asks for it.
  for (const link of document.querySelectorAll("a[data-player]")) {
    link.addEventListener("click", (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      const frame = document.createElement("iframe");
      frame.title = link.textContent.trim();
      frame.allow = "autoplay; encrypted-media; fullscreen; picture-in-picture";
      frame.sandbox = "allow-scripts allow-same-origin allow-popups allow-popups-to-escape-sandbox allow-presentation";
      // A player that is not told which site shows it refuses.
      frame.referrerPolicy = "strict-origin-when-cross-origin";
      frame.src = link.dataset.player;
      link.replaceWith(frame);
      frame.focus();
    });
  }

  show();
  reach();
  addEventListener("resize", reach);
})();
