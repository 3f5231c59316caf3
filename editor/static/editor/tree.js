// @ts-check
// The page tree: loads the contents of a section when it is opened, and further pages of long sections.
// The open sections are remembered in the URL, and in this browser. Rows are moved by dragging their handles, or with
// Alt and an arrow key on a handle.
import { create, find } from "./dom.js";

// How many pixels a pointer moves before a row is dragged.
const DEAD_ZONE = 6;
// The height of the areas at the top and bottom of the window that scroll the page, and how many pixels they scroll at once.
const EDGE = 80;
const SPEED = 8;

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
 * Return where a row would be dropped: before or after the row below the pointer, or into this row's section.
 *
 * @param {HTMLElement} row
 * @param {number} y
 */
function placeAt(row, y) {
  const { top, height } = row.getBoundingClientRect();
  const edge = row.querySelector(".tree-section") ? 0.25 : 0.5;
  const part = (y - top) / height;
  if (part < edge) return "before";
  return part > 1 - edge ? "after" : "into";
}

/**
 * Let editors drag rows by their handles, with a mouse, a pen or a finger.
 *
 * @param {HTMLElement} tree
 * @param {(item: HTMLElement, place: string, target: HTMLElement) => void} drop Receives the list items of the dragged
 *   row and of the row on which it was dropped.
 */
function setUpDragging(tree, drop) {
  /** @type {{ item: HTMLElement, x: number, y: number } | null} The pressed handle's item, and the pointer. */
  let pressed = null;
  /** @type {HTMLElement | null} The title that follows the pointer. */
  let label = null;
  let hasDragged = false;

  /** @returns {{ row: HTMLElement, place: string } | null} */
  const findPlace = () => {
    if (!pressed) return null;
    const row = document.elementFromPoint(pressed.x, pressed.y)?.closest(".tree-row");
    if (!(row instanceof HTMLElement) || pressed.item.contains(row)) return null;
    return { row, place: placeAt(row, pressed.y) };
  };
  const unmark = () => {
    for (const row of tree.querySelectorAll(".tree-row"))
      row.classList.remove("drop-before", "drop-after", "drop-into");
  };
  const show = () => {
    if (!pressed || !label) return;
    label.style.translate = `${pressed.x}px ${pressed.y}px`;
    unmark();
    const found = findPlace();
    found?.row.classList.add(`drop-${found.place}`);
  };
  // Near the top or bottom of the window, the page scrolls.
  const scroll = () => {
    if (!pressed || !label) return;
    const before = window.scrollY;
    if (pressed.y < EDGE) window.scrollBy({ top: -SPEED, behavior: "instant" });
    if (pressed.y > window.innerHeight - EDGE) window.scrollBy({ top: SPEED, behavior: "instant" });
    if (window.scrollY !== before) show();
    requestAnimationFrame(scroll);
  };
  const begin = () => {
    if (!pressed) return;
    hasDragged = true;
    pressed.item.classList.add("is-dragged");
    label = create(
      "div",
      { className: "tree-dragged" },
      find(pressed.item, ".tree-text > a", HTMLElement)?.textContent ?? "",
    );
    document.body.append(label);
    requestAnimationFrame(scroll);
  };
  const end = () => {
    pressed?.item.classList.remove("is-dragged");
    pressed = null;
    label?.remove();
    label = null;
    unmark();
  };

  tree.addEventListener("pointerdown", (event) => {
    const handle = event.target instanceof Element ? event.target.closest(".tree-moves > summary") : null;
    const item = handle?.closest("li");
    hasDragged = false;
    if (!handle || !item || event.button !== 0) return;
    pressed = { item, x: event.clientX, y: event.clientY };
    handle.setPointerCapture(event.pointerId);
  });
  tree.addEventListener("pointermove", ({ clientX: x, clientY: y }) => {
    if (!pressed || (!label && Math.hypot(x - pressed.x, y - pressed.y) < DEAD_ZONE)) return;
    if (!label) begin();
    Object.assign(pressed, { x, y });
    show();
  });
  tree.addEventListener("pointerup", () => {
    const found = label && findPlace();
    const target = found?.row.closest("li");
    if (pressed && found && target) drop(pressed.item, found.place, target);
    end();
  });
  tree.addEventListener("pointercancel", end);
  document.addEventListener("keydown", ({ key }) => {
    if (key === "Escape") end();
  });
  // The click at the end of a drag doesn't open the menu.
  tree.addEventListener("click", (event) => {
    if (hasDragged && event.detail > 0) event.preventDefault();
  });
}

/**
 * @param {HTMLElement} tree
 * @param {HTMLFormElement} form
 */
function setUpMoves(tree, form) {
  setUpDragging(tree, (item, place, target) => {
    const value = `${item.dataset.move}:${place}:${target.dataset.move?.split(":")[0]}`;
    form.append(create("input", { type: "hidden", name: "move", value }));
    form.requestSubmit();
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
