// @ts-check
// The editor's Insert menu: users choose an insert and fill in a small form, and a directive is inserted at the cursor.
import { showChoice } from "./chooser.js";
import { formatDirective, parseDirective } from "./directives.js";
import { find } from "./dom.js";
import { insertBlock } from "./insertion.js";
import { hasPicker, pickPhoto } from "./picker.js";

/** @typedef {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} Field */

const dialog = find(document, "#insert-dialog", HTMLDialogElement);
/** @type {((directive: string) => void) | null} Receives the directive of an insert that is already in the text. */
let replace = null;

/** Open the menu. */
export function openInserts() {
  if (!dialog) return;
  replace = null;
  dialog.showModal();
  show(dialog, /** @type {HTMLFormElement} */ (dialog.querySelector(".insert-choices")));
}

/** @param {string} name */
const formOf = (name) => dialog?.querySelector(`form[data-insert="${name}"]`) ?? null;

/**
 * Return the label of an insert, or null if the site has no such insert.
 *
 * @param {string} name
 */
export const describeInsert = (name) => formOf(name)?.querySelector("h2")?.textContent ?? null;

/** Return the name, label and help text of each insert in the menu. */
export function insertChoices() {
  const buttons = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("#insert-dialog [data-choice]"));
  return [...buttons].map((button) => ({
    name: button.dataset.choice ?? "",
    label: button.querySelector("strong")?.textContent ?? "",
    detail: button.querySelector("span")?.textContent ?? "",
  }));
}

/**
 * Insert a container that needs no values, such as a note, at the cursor. For other inserts, open the form first.
 *
 * @param {string} name
 */
export function startInsert(name) {
  const form = /** @type {HTMLFormElement | null} */ (formOf(name));
  if (!dialog || !form) return;
  form.reset();
  if ("container" in form.dataset && form.checkValidity()) {
    insertBlock(block(form));
    return;
  }
  openInserts();
  show(dialog, form);
}

/**
 * Open the form of an insert in the text, filled in with its attributes.
 *
 * @param {import("./text_editor.js").TextEditor} editor
 * @param {number} position The beginning of the directive.
 */
export function editInsert(editor, position) {
  const line = editor.view.state.doc.lineAt(position);
  const spelled = line.text.slice(position - line.from);
  const directive = parseDirective(spelled);
  if (!directive) return;
  const colons = /^:+/.exec(spelled)?.[0];
  editPart(editor, { from: position, to: line.to }, directive, (made) => `${colons}${made}`);
}

/**
 * Open the form of an insert for a part of the text, filled in with the attributes of a directive.
 *
 * @param {import("./text_editor.js").TextEditor} editor
 * @param {import("./text_editor.js").Range} range
 * @param {{ name: string, attributes: Record<string, string> }} directive
 * @param {(made: string) => string} write Returns the text that replaces the part. `made` is the form's directive without
 *   its colons.
 */
export function editPart(editor, range, { name, attributes }, write) {
  const form = /** @type {HTMLFormElement | null} */ (formOf(name));
  if (!dialog || !form) return;
  const fields = /** @type {Field[]} */ ([...form.elements]).filter(({ name }) => name);
  const names = new Set(fields.map(({ name }) => name));
  // The form would lose attributes for which it has no field, so show the directive's Markdown.
  if (Object.keys(attributes).some((attribute) => !names.has(attribute))) {
    editor.select({ from: range.from, to: range.from });
    editor.focus();
    return;
  }
  form.reset();
  for (const field of fields) {
    const value = attributes[field.name];
    if (value === undefined) {
      if ("said" in field.dataset) field.value = "";
      continue;
    }
    if (field.type === "checkbox") /** @type {HTMLInputElement} */ (field).checked = value === "true";
    else field.value = value;
    field.dispatchEvent(new Event("change"));
  }
  const tracked = editor.track(range);
  replace = (made) => {
    editor.replace(tracked.find(), write(made));
    editor.focus();
  };
  dialog.addEventListener("close", () => tracked.end(), { once: true });
  dialog.showModal();
  show(dialog, form);
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
  return formatDirective(
    form.dataset.insert ?? "",
    Object.fromEntries(fields.map((field) => [field.name, spelled(field)])),
  );
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
 * @param {HTMLInputElement} field
 * @param {any} photo
 */
function takePhoto(field, photo) {
  field.value = `photo:${photo.id}`;
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
      const write = replace;
      const [made, spelled] = [block(form), directive(form)];
      // Wait until the dialog is closed, because closing it moves the focus back.
      dialog.addEventListener("close", () => (write ? write(spelled) : insertBlock(made)), { once: true });
    });
    form.querySelector("[data-back]")?.addEventListener("click", () => {
      replace = null;
      show(dialog, choices);
    });
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
