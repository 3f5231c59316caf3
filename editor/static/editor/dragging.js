// @ts-check
// Lets editors drag the items of a list, a table or a tree by their handles, with a mouse, a pen or a finger.
import { create } from "./dom.js";

// How many pixels a pointer moves before an item is dragged.
const DEAD_ZONE = 6;
// The height of the areas at the top and bottom of the window that scroll the page, and how many pixels they scroll at once.
const EDGE = 80;
const SPEED = 8;
const ITEM = "li, tr";

/** @typedef {"before" | "after" | "into"} Place */

/**
 * @typedef {object} Options
 * @property {string} handle A selector for the handles.
 * @property {string} row A selector for the elements on which items can be dropped.
 * @property {(item: HTMLElement) => string} label Returns the text that follows the pointer.
 * @property {(item: HTMLElement, place: Place, target: HTMLElement) => void} drop Receives the dragged item, and the item
 *   on which it was dropped.
 * @property {(row: HTMLElement) => number} [edge] Returns how much of a row, at each end, means "before" or "after". The
 *   rest means "into".
 * @property {boolean} [isHorizontal] Whether the items are next to each other.
 */

/**
 * @param {HTMLElement} list
 * @param {Options} options
 */
export function setUpDragging(list, { handle, row, label, drop, edge = () => 0.5, isHorizontal = false }) {
  /** @type {{ item: HTMLElement, x: number, y: number } | null} The pressed handle's item, and the pointer. */
  let pressed = null;
  /** @type {HTMLElement | null} The label that follows the pointer. */
  let shown = null;
  let hasDragged = false;

  /** @returns {{ target: HTMLElement, place: Place } | null} */
  const findPlace = () => {
    if (!pressed) return null;
    const { item, x, y } = pressed;
    const target = document.elementFromPoint(x, y)?.closest(row);
    if (!(target instanceof HTMLElement) || !list.contains(target) || item.contains(target)) return null;
    const { left, top, width, height } = target.getBoundingClientRect();
    const part = isHorizontal ? (x - left) / width : (y - top) / height;
    if (part < edge(target)) return { target, place: "before" };
    return { target, place: part >= 1 - edge(target) ? "after" : "into" };
  };
  const unmark = () => {
    for (const marked of list.querySelectorAll(row)) marked.classList.remove("drop-before", "drop-after", "drop-into");
  };
  const show = () => {
    if (!pressed || !shown) return;
    shown.style.translate = `${pressed.x}px ${pressed.y}px`;
    unmark();
    const spot = findPlace();
    spot?.target.classList.add(`drop-${spot.place}`);
  };
  // Near the top or bottom of the window, the page scrolls.
  const scroll = () => {
    if (!pressed || !shown) return;
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
    shown = create("div", { className: "dragged-label" }, label(pressed.item));
    // A dialog covers everything outside it.
    (list.closest("dialog") ?? document.body).append(shown);
    requestAnimationFrame(scroll);
  };
  const end = () => {
    pressed?.item.classList.remove("is-dragged");
    pressed = null;
    shown?.remove();
    shown = null;
    unmark();
  };

  list.addEventListener("pointerdown", (event) => {
    const grip = event.target instanceof Element ? event.target.closest(handle) : null;
    const item = grip?.closest(ITEM);
    hasDragged = false;
    if (!grip || !(item instanceof HTMLElement) || event.button !== 0) return;
    pressed = { item, x: event.clientX, y: event.clientY };
    grip.setPointerCapture(event.pointerId);
  });
  list.addEventListener("pointermove", ({ clientX: x, clientY: y }) => {
    if (!pressed || (!shown && Math.hypot(x - pressed.x, y - pressed.y) < DEAD_ZONE)) return;
    if (!shown) begin();
    Object.assign(pressed, { x, y });
    show();
  });
  list.addEventListener("pointerup", () => {
    const spot = shown && findPlace();
    const target = spot?.target.closest(ITEM);
    if (pressed && spot && target instanceof HTMLElement) drop(pressed.item, spot.place, target);
    end();
  });
  list.addEventListener("pointercancel", end);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !shown) return;
    // Escape doesn't also close the dialog with the list.
    event.preventDefault();
    end();
  });
  // The click at the end of a drag does nothing else.
  list.addEventListener("click", (event) => {
    if (hasDragged && event.detail > 0) event.preventDefault();
  });
}
