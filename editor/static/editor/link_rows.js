// @ts-check
// Adds and removes rows in lists of links, and fills in the page that an editor chooses by its title. Without this
// script, each list ends with a few empty rows.
import { find } from "./dom.js";
import "./order.js";

/** @param {Element} row */
const inputs = (row) => /** @type {HTMLInputElement[]} */ ([...row.querySelectorAll("input:not([type=number])")]);

/**
 * Fill in a row with the page that is chosen in its URL field.
 *
 * @param {Element} row
 */
function followChooser(row) {
  const [label, target] = inputs(row);
  target.addEventListener("chosen", (event) => {
    const { address, title } = /** @type {CustomEvent} */ (event).detail;
    target.value = address;
    label.placeholder = address === title ? "" : title;
    target.dispatchEvent(new Event("change", { bubbles: true }));
  });
}

/**
 * Return an empty copy of a row with another number.
 *
 * @param {Element} row
 * @param {number} number
 */
function copyRow(row, number) {
  const copy = /** @type {HTMLElement} */ (row.cloneNode(true));
  for (const element of copy.querySelectorAll("input, button")) {
    for (const name of ["name", "id"]) {
      const value = element.getAttribute(name);
      if (value) element.setAttribute(name, value.replace(/-\d+-/, `-${number}-`));
    }
    element.setAttribute("aria-label", (element.ariaLabel ?? "").replace(/\d+/, String(number + 1)));
    if (element instanceof HTMLInputElement) element.value = element.placeholder = "";
  }
  followChooser(copy);
  return copy;
}

/**
 * @param {HTMLElement} rows
 * @param {HTMLTableSectionElement} body
 * @param {HTMLButtonElement} add
 */
function setUp(rows, body, add) {
  const most = Number(rows.dataset.most);
  // The copy is made before chooser.js sets up the row.
  const template = /** @type {Element} */ (body.lastElementChild?.cloneNode(true));
  const freeNumber = () =>
    Array.from({ length: most }, (_, number) => number).find(
      (number) => !body.querySelector(`[name$="-${number}-target"]`),
    );
  const change = () => {
    add.hidden = freeNumber() === undefined;
    body.dispatchEvent(new Event("change", { bubbles: true }));
  };

  for (const row of body.children) followChooser(row);
  const empty = [...body.children].filter((row) => inputs(row).every(({ value }) => !value));
  for (const row of empty.slice(1)) row.remove();
  add.hidden = freeNumber() === undefined;
  add.addEventListener("click", () => {
    const row = copyRow(template, freeNumber() ?? 0);
    body.append(row);
    inputs(row)[0].focus();
    change();
  });
  body.addEventListener("click", ({ target }) => {
    const row = target instanceof Element && target.closest("[data-remove]")?.closest("tr");
    if (!row) return;
    const next = row.nextElementSibling ?? row.previousElementSibling;
    row.remove();
    change();
    (next ? find(next, "[data-remove]", HTMLElement) : add)?.focus();
  });
}

for (const rows of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".link-rows"))) {
  const body = find(rows, "tbody", HTMLTableSectionElement);
  const add = find(rows, "[data-add]", HTMLButtonElement);
  if (body && add) setUp(rows, body, add);
}
