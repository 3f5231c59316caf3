// @ts-check
// The theme switch, the menu, keyboard scrolling, expandable notes, copy buttons, players from other sites, and the
// search key.

// Modules have no document.currentScript.
const words = /** @type {HTMLScriptElement} */ (document.querySelector("script[data-copied]")).dataset;

const opensElsewhere = (event) => event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;

function setUpTheme() {
  const root = document.documentElement;
  const button = /** @type {HTMLElement | null} */ (document.querySelector(".theme-switch"));
  const metas = /** @type {NodeListOf<HTMLMetaElement>} */ (document.querySelectorAll("meta[name=theme-color]"));
  const bars = [...metas].map((meta) => /** @type {const} */ ([meta, meta.content]));

  const show = () => {
    const theme = root.dataset.theme ?? "auto";
    const name = button?.dataset[theme] ?? "";
    if (button?.firstElementChild) button.title = button.firstElementChild.textContent = name;
    // On phones, the browser's toolbar gets the page's background color.
    const paper = getComputedStyle(document.body).backgroundColor;
    for (const [meta, own] of bars) meta.content = theme === "auto" ? own : paper;
  };
  button?.addEventListener("click", () => {
    const theme = { auto: "light", light: "dark" }[root.dataset.theme ?? ""] ?? "auto";
    root.dataset.theme = theme;
    try {
      localStorage.setItem("theme", theme);
    } catch {
      // The choice applies only to this page.
    }
    show();
  });
  // The theme can be changed in another tab or in the admin.
  addEventListener("storage", ({ key, newValue }) => {
    if (key !== "theme") return;
    root.dataset.theme = newValue === "light" || newValue === "dark" ? newValue : "auto";
    show();
  });
  show();
}

/** Show the average colour of photos only while they load, not behind loaded or missing photos. */
function removeColours() {
  const remove = ({ target }) => target instanceof HTMLImageElement && target.setAttribute("data-done", "");
  for (const type of ["load", "error"]) document.addEventListener(type, remove, true);
  for (const target of document.images) if (target.complete) remove({ target });
}

/** On phones, scroll the menu to the section that the reader is in. */
function showCurrentSection() {
  const current = document.querySelector(".site-menu [aria-current]");
  const list = current?.closest("ul");
  if (!current || !list) return;
  const [link, menu] = [current, list].map((element) => element.getBoundingClientRect());
  list.scrollLeft += link.left + link.width / 2 - (menu.left + menu.width / 2);
}

/** Make blocks that scroll focusable, because some browsers can't scroll other blocks with the keyboard. */
function makeScrollingBlocksReachable() {
  for (const block of document.querySelectorAll(".prose pre, .prose table, .comment-text table, .margin-note")) {
    if (block.scrollWidth > block.clientWidth || block.scrollHeight > block.clientHeight)
      block.setAttribute("tabindex", "0");
    else block.removeAttribute("tabindex");
  }
}

/**
 * If the page has no margin, expand a note below its line when the reader clicks its number.
 *
 * @param {HTMLElement} link The number in the text.
 */
function setUpNote(link) {
  const note = document.getElementById(link.getAttribute("href")?.slice(1) ?? "");
  if (!note?.matches(".margin-note")) return;
  /** @param {MouseEvent} event @param {boolean} isOpen */
  const unfold = (event, isOpen) => {
    if (getComputedStyle(note).float !== "none" || opensElsewhere(event)) return;
    event.preventDefault();
    note.classList.toggle("is-open", isOpen);
    link.setAttribute("aria-expanded", String(isOpen));
    link.focus();
  };
  link.addEventListener("click", (event) => unfold(event, !note.classList.contains("is-open")));
  const back = /** @type {HTMLElement | null} */ (note.querySelector(".footnote-back"));
  back?.addEventListener("click", (event) => unfold(event, false));
}

/** Add a bar above the code, with a note if the code is wider than its box, and a button that copies it. */
function addCodeBar(code) {
  const block = document.createElement("div");
  const bar = document.createElement("div");
  const note = document.createElement("span");
  block.className = "code-block";
  bar.className = "code-bar";
  note.className = "scrolls";
  note.textContent = words.scrolls ?? "";
  bar.append(note);
  // Browsers allow copying only on secure pages.
  if (navigator.clipboard) bar.append(...makeCopyButton(words.copy ?? "", () => code.textContent ?? ""));
  code.replaceWith(block);
  block.append(code, bar);
}

/** Return a button that copies a text, and an element that tells screen readers that it was copied. */
function makeCopyButton(label, getText) {
  const copy = document.createElement("button");
  const status = document.createElement("span");
  copy.className = "copy";
  copy.type = "button";
  copy.textContent = label;
  status.className = "visually-hidden";
  status.setAttribute("role", "status");
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(getText());
    } catch {
      return; // Readers can copy with the keyboard.
    }
    copy.textContent = status.textContent = words.copied ?? "";
    setTimeout(() => {
      copy.textContent = label;
      status.textContent = "";
    }, 2000);
  });
  return [copy, status];
}

/** Add buttons that copy the page's link, and that open the device's menu for sharing if there is one. */
function setUpSharing(row) {
  const canonical = /** @type {HTMLLinkElement | null} */ (document.querySelector("link[rel=canonical]"));
  const url = canonical?.href ?? location.href;
  if (navigator.clipboard) row.append(...makeCopyButton(row.dataset.copyLink, () => url));
  if (!navigator.share) return;
  const share = document.createElement("button");
  share.type = "button";
  share.textContent = row.dataset.share;
  // The promise is rejected if the reader closes the menu.
  share.addEventListener("click", () => navigator.share({ title: document.title, url }).catch(() => {}));
  row.append(share);
}

/** Load the player, from another site, only when the reader clicks. */
function setUpPlayer(link) {
  link.addEventListener("click", (event) => {
    if (opensElsewhere(event)) return;
    event.preventDefault();
    const frame = document.createElement("iframe");
    frame.title = link.textContent.trim();
    frame.allow = "autoplay; encrypted-media; fullscreen; picture-in-picture";
    frame.setAttribute(
      "sandbox",
      "allow-scripts allow-same-origin allow-popups allow-popups-to-escape-sandbox allow-presentation",
    );
    // Players don't work without a referrer.
    frame.referrerPolicy = "strict-origin-when-cross-origin";
    frame.src = link.dataset.player ?? "";
    link.replaceWith(frame);
    frame.focus();
  });
}

/** Open a search field on top of the page when the reader presses "/". */
function setUpSearchKey() {
  addEventListener("keydown", async (event) => {
    const link = /** @type {HTMLAnchorElement | null} */ (document.querySelector("a.to-search, .to-search a"));
    const target = /** @type {Element} */ (event.target);
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || !link) return;
    if (target.closest?.("input, textarea, select, [contenteditable], dialog[open]")) return;
    event.preventDefault();
    const field = () => /** @type {HTMLInputElement | null} */ (document.querySelector("input[data-suggestions]"));
    if (!field()) {
      const answer = await fetch(link.href).catch(() => null);
      const page = answer?.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
      const form = page?.querySelector("search");
      const script = /** @type {HTMLScriptElement | null | undefined} */ (page?.querySelector("search + script"));
      if (!form || !script) return location.assign(link.href);
      if (!field()) openSearch(form);
      await import(script.src);
    }
    const dialog = field()?.closest("dialog");
    if (dialog && !dialog.open) dialog.showModal();
    field()?.select();
    field()?.focus();
  });
}

function openSearch(form) {
  const dialog = document.createElement("dialog");
  dialog.className = "search-dialog";
  dialog.append(form);
  // A click outside the form closes the dialog.
  dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
}

/** @returns {NodeListOf<HTMLElement>} */
const all = (selector) => document.querySelectorAll(selector);

setUpTheme();
for (const link of all(".prose .footnote-ref a")) setUpNote(link);
for (const code of all(".prose pre")) addCodeBar(code);
for (const link of all("a[data-player]")) setUpPlayer(link);
for (const row of all(".share")) setUpSharing(row);
removeColours();
setUpSearchKey();
showCurrentSection();
makeScrollingBlocksReachable();
addEventListener("resize", makeScrollingBlocksReachable);
