// What every page gains from a script: a switch for its colours, and keys that scroll what is wider than the text.
(() => {
  "use strict";

  const root = document.documentElement;
  const words = document.currentScript.dataset;
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

  // Where there is no margin a note unfolds below its line, here without a jump.
  for (const link of document.querySelectorAll(".prose .footnote-ref a")) {
    const number = link.parentElement;
    const note = [number.nextElementSibling, number.closest(".prose > *")?.nextElementSibling].find(
      (next) => next?.matches(".margin-note") && next.querySelector(".margin-number").textContent === link.textContent,
    );
    const unfold = (event, isOpen) => {
      if (getComputedStyle(note).float !== "none" || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
        return;
      event.preventDefault();
      note.classList.toggle("is-open", isOpen);
      link.setAttribute("aria-expanded", isOpen);
      link.focus();
    };
    if (!note) continue;
    link.addEventListener("click", (event) => unfold(event, !note.classList.contains("is-open")));
    note.querySelector(".footnote-back")?.addEventListener("click", (event) => unfold(event, false));
  }

  // Browsers copy on safe addresses only.
  for (const code of navigator.clipboard ? document.querySelectorAll(".prose pre") : []) {
    const block = document.createElement("div");
    const copy = document.createElement("button");
    const said = document.createElement("span");
    block.className = "code-block";
    copy.className = "copy";
    copy.type = "button";
    copy.textContent = words.copy;
    said.className = "visually-hidden";
    said.setAttribute("role", "status");
    code.replaceWith(block);
    block.append(code, copy, said);
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
      } catch {
        return; // There is the keyboard's way.
      }
      copy.textContent = said.textContent = words.copied;
      setTimeout(() => {
        copy.textContent = words.copy;
        said.textContent = "";
      }, 2000);
    });
  }

  // Other sites are asked once a reader asks for it.
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
