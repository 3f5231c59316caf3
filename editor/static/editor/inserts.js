// @ts-check
// The editor's Insert menu: users choose an insert and fill in a small form, and a directive is inserted at the cursor.
import { showChoice } from "./chooser.js";
import { find } from "./dom.js";
import { insertBlock } from "./insertion.js";
import { hasPicker, pickPhoto } from "./picker.js";

/** @typedef {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} Field */

const dialog = find(document, "#insert-dialog", HTMLDialogElement);

/** Open the menu. */
export function openInserts() {
  if (!dialog) return;
  dialog.showModal();
  show(dialog, /** @type {HTMLFormElement} */ (dialog.querySelector(".insert-choices")));
}

/**
 * Show one of the dialog's forms: the choice of inserts, or the form for one insert.
 *
 * @param {HTMLDialogElement} dialog
 * @param {HTMLFormElement} shown
 */
function show(dialog, shown) {
  for (const form of dialog.querySelectorAll("form")) form.hidden = form !== shown;
  dialog.setAttribute("aria-labelledby", shown.querySelector("h2")?.id ?? "");
  /** @type {HTMLElement | null} */ (shown.querySelector("input, select, textarea, button, h2"))?.focus();
}

/**
 * Quote a value in the same way as marginalia/markup/directives.py.
 *
 * @param {string} value
 */
const quoted = (value) => (/^[^\s"'{}\\]+$/.test(value) ? value : `"${value.replace(/[\\"]/g, "\\$&")}"`);

/**
 * Return whether a field has the insert's default value. Fields with `data-said` are always written into the directive.
 *
 * @param {Field} field
 */
function isDefault(field) {
  if ("said" in field.dataset) return false;
  if (field instanceof HTMLSelectElement) {
    return [...field.options].some((option) => option.selected && option.defaultSelected);
  }
  return field.type === "checkbox" && field instanceof HTMLInputElement
    ? field.checked === field.defaultChecked
    : field.value === field.defaultValue;
}

/** @param {Field} field */
function spelled(field) {
  const value = field instanceof HTMLInputElement && field.type === "checkbox" ? String(field.checked) : field.value;
  return value.trim().split(/\s+/).join(" ");
}

/** @param {HTMLFormElement} form */
function directive(form) {
  const fields = /** @type {Field[]} */ ([...form.elements]).filter((field) => field.name && !isDefault(field));
  const pairs = fields
    .map((field) => [field.name, spelled(field)])
    .filter(([, value]) => value)
    .map(([name, value]) => `${name}=${quoted(value)}`);
  return form.dataset.insert + (pairs.length ? `{${pairs.join(" ")}}` : "");
}

/**
 * @param {HTMLFormElement} form
 * @returns {import("./insertion.js").Block}
 */
function block(form) {
  if (!("container" in form.dataset)) return `::${directive(form)}`;
  const begin = `:::${directive(form)}\n`;
  return (selected) => {
    const inner = selected.trim();
    // If the insert is empty, place the cursor inside it.
    return { block: `${begin}${inner}\n:::`, select: inner ? undefined : [begin.length, begin.length] };
  };
}

/**
 * Add a photo to a field. It either replaces the field's value or is added after other photos.
 *
 * @param {HTMLInputElement} field
 * @param {any} photo
 */
function takePhoto(field, photo) {
  const name = `photo:${photo.id}`;
  field.value = field.dataset.photo === "more" && field.value.trim() ? `${field.value.trim()},${name}` : name;
  showChoice(field, photo);
  field.focus();
}

/** @param {HTMLDialogElement} dialog */
function setUp(dialog) {
  const choices = /** @type {HTMLFormElement} */ (dialog.querySelector(".insert-choices"));
  const template = /** @type {HTMLTemplateElement} */ (dialog.querySelector("template"));
  const forms = /** @type {HTMLFormElement[]} */ ([...dialog.querySelectorAll("form[data-insert]")]);

  for (const form of forms) {
    form.addEventListener("submit", (event) => {
      if (/** @type {HTMLButtonElement | null} */ (event.submitter)?.value !== "insert") return;
      const made = block(form);
      // Wait until the dialog is closed, because closing it moves the focus back.
      dialog.addEventListener("close", () => insertBlock(made), { once: true });
    });
    form.querySelector("[data-back]")?.addEventListener("click", () => show(dialog, choices));
    if (!hasPicker) continue;
    for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (form.querySelectorAll("[data-photo]"))) {
      field.after(template.content.cloneNode(true));
      field.nextElementSibling?.addEventListener("click", () => pickPhoto((photo) => takePhoto(field, photo)));
    }
  }
  choices.addEventListener("click", ({ target }) => {
    const choice = /** @type {HTMLElement} */ (target).closest("[data-choice]");
    const form = forms.find((one) => one.dataset.insert === choice?.getAttribute("data-choice"));
    if (!form) return;
    form.reset();
    show(dialog, form);
  });
}

if (dialog) setUp(dialog);
