// @ts-check
// The page tree: loads the contents of a section when it is opened, and further pages of long sections.
// The open sections are remembered in the URL, and in this browser. Rows are moved by dragging their handles, or with
// Alt and an arrow key on a handle.
import { create, find } from "./dom.js";
import { setUpDragging } from "./dragging.js";

/**
 * Fetch a page of the tree, and return its top level.
 *
 * @param {string} url
 */
async function fetchLevel(url) {
  const answer = await fetch(url);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const level = find(page, "#tree > ul", HTMLElement);
  if (!answer.ok || !level) throw new Error(`${answer.status} ${url}`);
  return level;
}

/**
 * @param {HTMLElement} tree
 * @param {HTMLFormElement} form
 */
function setUp(tree, form) {
  const remember = () => {
    /** @type {NodeListOf<HTMLButtonElement>} */
    const opened = tree.querySelectorAll(".tree-toggle[aria-expanded=true]");
    for (const box of form.querySelectorAll("[name=open]")) box.remove();
    for (const { value } of opened) form.append(create("input", { type: "hidden", name: "open", value }));
    const query = new URLSearchParams([...opened].map(({ value }) => ["open", value]));
    localStorage.setItem(`list:${location.pathname}`, query.toString());
    const page = new URLSearchParams(location.search);
    for (const name of ["open", "toggle"]) page.delete(name);
    for (const [name, value] of query) page.append(name, value);
    history.replaceState(null, "", `?${page}`);
  };

  /** @param {HTMLButtonElement} toggle */
  const open = async (toggle) => {
    const item = /** @type {HTMLElement} */ (toggle.closest("li"));
    const level = find(item, ":scope > ul", HTMLElement);
    const isOpen = toggle.ariaExpanded === "true";
    if (level) level.hidden = isOpen;
    else item.append(await fetchLevel(`?section=${toggle.value}`));
    toggle.ariaExpanded = String(!isOpen);
    remember();
  };

  /** @param {HTMLAnchorElement} link */
  const showMore = async (link) => {
    const level = await fetchLevel(link.href);
    const first = find(level, "a", HTMLElement);
    link.closest("li")?.replaceWith(...level.children);
    first?.focus();
  };

  tree.addEventListener("click", async (event) => {
    const { target } = event;
    if (!(target instanceof Element)) return;
    const toggle = target.closest(".tree-toggle");
    const more = target.closest(".tree-more a");
    const control = toggle ?? more;
    if (!control || control.ariaBusy === "true") return;
    event.preventDefault();
    control.ariaBusy = "true";
    try {
      if (toggle instanceof HTMLButtonElement) await open(toggle);
      else if (more instanceof HTMLAnchorElement) await showMore(more);
    } catch {
      // The page without scripts shows the error.
      if (toggle instanceof HTMLButtonElement) form.requestSubmit(toggle);
      else if (more instanceof HTMLAnchorElement) location.assign(more.href);
    }
    control.ariaBusy = null;
  });
  remember();
}

/**
 * @param {HTMLElement} tree
 * @param {HTMLFormElement} form
 */
function setUpMoves(tree, form) {
  setUpDragging(tree, {
    handle: ".tree-moves > summary",
    row: ".tree-row",
    label: (item) => find(item, ".tree-text > a", HTMLElement)?.textContent ?? "",
    edge: (row) => (row.querySelector(".tree-section") ? 0.25 : 0.5),
    drop(item, place, target) {
      const value = `${item.dataset.move}:${place}:${target.dataset.move?.split(":")[0]}`;
      form.append(create("input", { type: "hidden", name: "move", value }));
      form.requestSubmit();
    },
  });
  tree.addEventListener("keydown", (event) => {
    const menu = event.target instanceof Element ? event.target.closest(".tree-moves") : null;
    if (!(menu instanceof HTMLDetailsElement)) return;
    if (event.key === "Escape") {
      menu.open = false;
      find(menu, "summary", HTMLElement)?.focus();
    }
    const button = event.altKey ? find(menu, `[data-key=${CSS.escape(event.key)}]`, HTMLButtonElement) : null;
    if (!button) return;
    event.preventDefault();
    form.requestSubmit(button);
  });
  document.addEventListener("click", ({ target }) => {
    for (const menu of tree.querySelectorAll("details[open]")) {
      if (target instanceof Node && !menu.contains(target)) menu.removeAttribute("open");
    }
  });

  // After a move, the focus returns to the handle of the moved row, and screen readers read the message.
  const item = document.getElementById(location.hash.slice(1));
  const handle = item && find(item, "summary", HTMLElement);
  const message = find(document, ".messagelist", HTMLElement);
  if (handle && message) {
    message.id = "message-of-move";
    handle.setAttribute("aria-describedby", message.id);
    handle.focus();
  }
}

const tree = find(document, "#tree", HTMLElement);
const form = find(document, "#levels", HTMLFormElement);
const move = find(document, "#move", HTMLFormElement);
if (tree && move) setUpMoves(tree, move);
if (tree && form) setUp(tree, form);
