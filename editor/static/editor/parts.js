// @ts-check
// Adds empty rows to lists of parts. Without this script, each list ends with a few empty rows, and more are added
// after every save.

/**
 * Replace a template's placeholder for the row number in names and ids, also in the templates of inner lists.
 *
 * @param {DocumentFragment} fragment
 * @param {string} placeholder
 * @param {number} number
 */
function fillIn(fragment, placeholder, number) {
  for (const element of fragment.querySelectorAll("[name], [id], [for], [list], [data-parts]")) {
    for (const name of ["name", "id", "for", "list", "data-parts"]) {
      const value = element.getAttribute(name);
      if (value !== null) element.setAttribute(name, value.replaceAll(placeholder, String(number)));
    }
  }
  for (const template of fragment.querySelectorAll("template")) fillIn(template.content, placeholder, number);
}

/**
 * Create the next empty row.
 *
 * @param {HTMLTemplateElement} template
 * @param {number} number
 */
function makeRow(template, number) {
  const fragment = /** @type {DocumentFragment} */ (template.content.cloneNode(true));
  fillIn(fragment, template.dataset.placeholder || "", number);
  const row = /** @type {Element} */ (fragment.firstElementChild);
  const place = /** @type {HTMLInputElement} */ (row.querySelector(":scope > .part-place > input"));
  place.value = String(number + 1);
  for (const parts of row.querySelectorAll("[data-parts]")) setUp(parts);
  return row;
}

/** @param {Element} parts */
function setUp(parts) {
  const button = /** @type {HTMLButtonElement | null} */ (parts.querySelector(":scope > [data-add-part]"));
  const template = /** @type {HTMLTemplateElement | null} */ (parts.querySelector(":scope > template"));
  const count = /** @type {HTMLInputElement | null} */ (parts.querySelector(":scope > input[name$='-count']"));
  if (!button || !template || !count) return;
  button.hidden = false;
  button.addEventListener("click", () => {
    const number = Number(count.value);
    count.value = String(number + 1);
    const row = makeRow(template, number);
    template.before(row);
    /** @type {HTMLElement | null} */
    const first = row.querySelector("input:not([type=hidden]), textarea, select");
    first?.focus();
  });
}

for (const parts of document.querySelectorAll("[data-parts]")) setUp(parts);
