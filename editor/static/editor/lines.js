// @ts-check
// Keeps alternative texts, which wrap in textareas, on a single line.

const FIELDS = "textarea[name$=alt]:enabled";

/**
 * Let Enter in an alternative text go to the next one in the form, and replace pasted line breaks.
 *
 * @param {HTMLFormElement} form
 * @param {() => void} [finish] Called when Enter is pressed in the last alternative text.
 */
export function keepLines(form, finish) {
  form.addEventListener("keydown", (event) => {
    const field = /** @type {HTMLElement} */ (event.target);
    if (event.key !== "Enter" || event.isComposing || event.ctrlKey || event.metaKey || !field.matches(FIELDS)) return;
    event.preventDefault();
    const fields = /** @type {HTMLElement[]} */ ([...form.querySelectorAll(FIELDS)]);
    const next = fields[fields.indexOf(field) + 1];
    if (next) next.focus();
    else finish?.();
  });
  form.addEventListener("input", ({ target }) => {
    const field = /** @type {HTMLTextAreaElement} */ (target);
    if (field.matches(FIELDS) && /\n/.test(field.value)) field.value = field.value.replace(/\s*\n\s*/g, " ");
  });
}
