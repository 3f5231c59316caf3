// @ts-check
// Lets editors move rows: by dragging their handles, with Alt and an arrow key, or with the buttons [data-move]. The
// positions in the inputs are updated, and saved with the form.
import { create } from "./dom.js";

/** @param {HTMLElement} body */
function setUp(body) {
  /** @type {HTMLElement | null} */
  let dragged = null;
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
  body.addEventListener("dragstart", ({ target, dataTransfer }) => {
    const row = target instanceof Element && target.matches(".grip") ? target.closest("tr") : null;
    if (!row || !dataTransfer) return;
    dragged = row;
    row.classList.add("is-dragged");
    dataTransfer.effectAllowed = "move";
    dataTransfer.setData("text/plain", "");
    dataTransfer.setDragImage(row, 0, 0);
  });
  body.addEventListener("dragend", () => {
    if (!dragged) return;
    dragged.classList.remove("is-dragged");
    dragged = null;
    renumber();
  });
  body.addEventListener("dragover", (event) => {
    const row = /** @type {HTMLElement} */ (event.target).closest("tr");
    if (!dragged || !row) return;
    event.preventDefault();
    const { top, height } = row.getBoundingClientRect();
    const isBelow = event.clientY > top + height / 2;
    if (row !== dragged) row[isBelow ? "after" : "before"](dragged);
  });
  body.addEventListener("drop", (event) => event.preventDefault());
}

for (const body of document.querySelectorAll("[data-order]")) setUp(/** @type {HTMLElement} */ (body));
