// @ts-check
// The page tree: loads the contents of a section when it is opened, and further pages of long sections.
// The open sections are remembered in the URL, and in this browser.
import { create, find } from "./dom.js";

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

const tree = find(document, "#tree", HTMLElement);
const form = find(document, "#levels", HTMLFormElement);
if (tree && form) setUp(tree, form);
