// @ts-check
// Lets editors move rows: by dragging their handles, with Alt and an arrow key, or with the buttons [data-move]. The
// positions in the inputs are updated, and saved with the form.
import { create, find } from "./dom.js";
import { setUpDragging } from "./dragging.js";

/**
 * Return a row's title, or the text that was typed in it.
 *
 * @param {HTMLElement} row
 */
function rowLabel(row) {
  /** @type {NodeListOf<HTMLInputElement>} */
  const inputs = row.querySelectorAll("input[type=text]");
  const typed = [...inputs].map(({ value, placeholder }) => value || placeholder);
  return find(row, "a", HTMLElement)?.textContent ?? typed.find(Boolean) ?? "";
}

/** @param {HTMLElement} body */
function setUp(body) {
  const status = create("p", { className: "visually-hidden" });
  status.setAttribute("role", "status");
  body.closest("table")?.after(status);
  for (const part of body.querySelectorAll(".grip, .row-acts")) /** @type {HTMLElement} */ (part).hidden = false;

  const renumber = () => {
    for (const [index, box] of [...body.querySelectorAll("input[type=number]")].entries()) {
      /** @type {HTMLInputElement} */ (box).value = String(index + 1);
    }
    body.dispatchEvent(new Event("change", { bubbles: true }));
  };
  /**
   * Move a row up or down by one. Its neighbour is moved, so that the focus remains in the row.
   *
   * @param {Element} element
   * @param {boolean} isUp
   */
  const step = (element, isUp) => {
    const row = element.closest("tr");
    const neighbour = isUp ? row?.previousElementSibling : row?.nextElementSibling;
    if (!row || !neighbour) return;
    row[isUp ? "after" : "before"](neighbour);
    renumber();
    const position = [...body.children].indexOf(row) + 1;
    status.textContent = (body.dataset.moved ?? "").replace("%(position)s", String(position));
  };

  body.addEventListener("click", ({ target }) => {
    const button = target instanceof Element ? target.closest("[data-move]") : null;
    if (button instanceof HTMLElement) step(button, button.dataset.move === "up");
  });
  // This listener runs before those of fields with autocomplete, which also use the arrow keys.
  body.addEventListener(
    "keydown",
    (event) => {
      if (!event.altKey || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
      event.preventDefault();
      event.stopPropagation();
      step(/** @type {Element} */ (event.target), event.key === "ArrowUp");
    },
    true,
  );
  setUpDragging(body, {
    handle: ".grip",
    row: "tr",
    label: rowLabel,
    drop(row, place, target) {
      target[place === "before" ? "before" : "after"](row);
      renumber();
    },
  });
}

for (const body of document.querySelectorAll("[data-order]")) setUp(/** @type {HTMLElement} */ (body));
