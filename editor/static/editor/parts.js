// @ts-check
// Adds empty rows to lists of parts. Without this script, each list ends with a few empty rows, and more are added
// after every save.

/**
 * Create the next empty row. In the template, "__n__" is the placeholder for the row number.
 *
 * @param {HTMLTemplateElement} template
 * @param {number} number
 */
function makeRow(template, number) {
  const row = /** @type {DocumentFragment} */ (template.content.cloneNode(true));
  for (const element of row.querySelectorAll("[name], [id], [for]")) {
    for (const name of ["name", "id", "for"]) {
      const value = element.getAttribute(name);
      if (value !== null) element.setAttribute(name, value.replaceAll("__n__", String(number)));
    }
  }
  /** @type {HTMLInputElement} */ (row.querySelector("[name$='-ORDER']")).value = String(number + 1);
  return row;
}

/** @param {Element} parts */
function setUp(parts) {
  const button = /** @type {HTMLButtonElement | null} */ (parts.querySelector("[data-add-part]"));
  const template = /** @type {HTMLTemplateElement | null} */ (parts.querySelector("template"));
  const count = /** @type {HTMLInputElement | null} */ (parts.querySelector("input[name$='-count']"));
  if (!button || !template || !count) return;
  button.hidden = false;
  button.addEventListener("click", () => {
    const number = Number(count.value);
    count.value = String(number + 1);
    template.before(makeRow(template, number));
    /** @type {HTMLElement | null | undefined} */
    const first = template.previousElementSibling?.querySelector("input:not([type=hidden]), textarea, select");
    first?.focus();
  });
}

for (const parts of document.querySelectorAll("[data-parts]")) setUp(parts);
