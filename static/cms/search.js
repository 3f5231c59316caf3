// @ts-check
// The search in the rail: a dialog that shows results while the user types. Without this script, the link in the rail
// opens a page with the same form.

// The delay after typing, in milliseconds.
const PAUSE = 200;

/**
 * @param {HTMLDialogElement} dialog
 * @param {HTMLAnchorElement} link
 */
function setUp(dialog, link) {
  const input = /** @type {HTMLInputElement} */ (dialog.querySelector("input"));
  const found = /** @type {HTMLElement} */ (dialog.querySelector("[data-found]"));
  const status = /** @type {HTMLElement} */ (dialog.querySelector("[role=status]"));
  const address = link.href;
  let timer = 0;
  let asking = new AbortController();

  const links = () => /** @type {HTMLElement[]} */ ([...found.querySelectorAll("a")]);

  async function show() {
    asking.abort();
    asking = new AbortController();
    const query = input.value.trim();
    if (!query) {
      found.replaceChildren();
      status.textContent = "";
      return;
    }
    try {
      const answer = await fetch(`${address}?${new URLSearchParams({ q: query, part: "1" })}`, {
        signal: asking.signal,
        redirect: "error",
      });
      if (!answer.ok) return;
      const html = await answer.text();
      found.replaceChildren(...new DOMParser().parseFromString(html, "text/html").body.childNodes);
      const names = [...found.querySelectorAll("li > a > span")].map((name) => name.textContent);
      status.textContent = names.length ? names.join(", ") : (status.dataset.none ?? "");
    } catch {
      // A newer request replaced this one, or the connection was lost. Enter still opens the page with the results.
    }
  }

  function open() {
    if (!dialog.open) dialog.showModal();
    input.select();
  }

  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open();
  });
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(show, PAUSE);
  });
  dialog.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const stops = [input, ...links()];
    const at = stops.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    stops[(at + step + stops.length) % stops.length]?.focus();
  });
  dialog.addEventListener("click", (event) => {
    // A click on the backdrop. All content is in child elements.
    if (event.target === dialog) dialog.close();
  });
  document.addEventListener("keydown", (event) => {
    const typing =
      event.target instanceof Element && event.target.closest("input, textarea, select, [contenteditable]");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]")) return;
    event.preventDefault();
    open();
  });
}

const searchDialog = document.querySelector("#search-dialog");
const searchLink = document.querySelector("a[data-search]");
if (searchDialog instanceof HTMLDialogElement && searchLink instanceof HTMLAnchorElement)
  setUp(searchDialog, searchLink);
