// @ts-check
// The bar above a node's edit form: the saved state, the primary button's label and shortcut, and the menu. All buttons
// also work without this script.
import { control, create, find } from "./dom.js";

/**
 * Return the form's publication time, as typed, if it is in the future. In that case, the page will be scheduled.
 *
 * @param {HTMLFormElement} form
 */
function futureTime(form) {
  const day = control(form, "published_0")?.value;
  const time = control(form, "published_1")?.value || "00:00";
  if (!day) return null;
  // The body contains the site's UTC offset.
  const offset = Number(document.body.dataset.adminUtcOffset) * 1000;
  const at = Date.parse(`${day}T${time.length === 5 ? `${time}:00` : time}Z`) - offset;
  return at > Date.now() ? `${day} ${time.slice(0, 5)}` : null;
}

/**
 * Show whether the form has unsaved changes. Return a function that returns whether there are any.
 *
 * @param {HTMLFormElement} form
 */
function followChanges(form) {
  const saved = find(document, "#saved-state", HTMLElement);
  // If a form is shown again, it differs from the stored node from the beginning.
  let changed = "unstored" in form.dataset;
  /** @param {Event} event */
  const change = ({ target }) => {
    if (changed || !saved || /** @type {any} */ (target).name === undefined) return;
    changed = true;
    saved.textContent = saved.dataset.unsaved ?? "";
  };
  form.addEventListener("input", change);
  form.addEventListener("change", change);
  return () => changed;
}

/**
 * Set up the primary button, which publishes, schedules or saves. If readers will see the result, a dialog asks first.
 *
 * @param {HTMLFormElement} form
 * @param {HTMLButtonElement} primary
 */
function setUpPrimary(form, primary) {
  const dialog = /** @type {HTMLDialogElement} */ (document.querySelector("#ask-primary"));
  const words = primary.dataset;
  let confirmed = false;

  const scheduledFor = () => (words.schedule ? futureTime(form) : null);
  const relabel = () => {
    primary.textContent = (scheduledFor() ? words.schedule : words.label) ?? "";
  };
  const ask = () => {
    const when = scheduledFor();
    const label = primary.textContent.replace("…", "");
    /** @param {string} selector @param {string} text */
    const write = (selector, text) => {
      /** @type {HTMLElement} */ (dialog.querySelector(selector)).textContent = text;
    };
    write("h2", `${label}?`);
    write(".help", (when ? words.asksSchedule?.replace("%(when)s", when) : words.asks) ?? "");
    write("[value=yes]", label);
    dialog.returnValue = "";
    dialog.showModal();
  };
  dialog.addEventListener("close", () => {
    if (dialog.returnValue !== "yes") return;
    confirmed = true;
    form.requestSubmit(primary);
    confirmed = false;
  });
  primary.addEventListener("click", (event) => {
    relabel();
    if (confirmed || !scheduledFor() || dialog.open) return;
    event.preventDefault();
    ask();
  });
  // Ctrl-Enter presses the button.
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
      if (document.querySelector("dialog[open]")) return;
      event.preventDefault();
      event.stopPropagation();
      relabel();
      if (words.asks) ask();
      else form.requestSubmit(primary);
    },
    true,
  );
  for (const name of ["published_0", "published_1"]) {
    for (const kind of ["input", "change"]) control(form, name)?.addEventListener(kind, relabel);
  }
  relabel();
}

/**
 * Before a preview is shown, unsaved text is saved as a draft.
 *
 * @param {HTMLFormElement} form
 * @param {HTMLElement} bar
 * @param {() => boolean} isChanged
 */
function setUpPreview(form, bar, isChanged) {
  const canSave = bar.querySelector("[data-save]") !== null;
  bar.querySelector("a[data-preview]")?.addEventListener("click", (event) => {
    const { ctrlKey, metaKey, shiftKey } = /** @type {MouseEvent} */ (event);
    if (!isChanged() || !canSave || ctrlKey || metaKey || shiftKey) return;
    event.preventDefault();
    const button = create("button", { name: "_preview", value: "1", hidden: true });
    form.append(button);
    form.requestSubmit(button);
  });
}

/** @param {HTMLDetailsElement} menu */
function setUpMenu(menu) {
  const close = () => {
    menu.open = false;
  };
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    close();
    menu.querySelector("summary")?.focus();
  });
  document.addEventListener("click", ({ target }) => {
    if (menu.open && !menu.contains(/** @type {Node} */ (target))) close();
  });
  menu.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !menu.contains(/** @type {Node} */ (relatedTarget))) close();
  });
}

const form = find(document, "#node_form", HTMLFormElement);
const bar = form && find(form, ".edit-form-bar", HTMLElement);
if (form && bar) {
  const isChanged = followChanges(form);
  const primary = find(bar, "[data-primary]", HTMLButtonElement);
  if (primary) setUpPrimary(form, primary);
  setUpPreview(form, bar, isChanged);
  const menu = find(bar, ".edit-form-menu", HTMLDetailsElement);
  if (menu) setUpMenu(menu);

  // On phones, collapse the groups of settings, except groups with errors.
  if (window.matchMedia("(max-width: 860px)").matches) {
    for (const group of form.querySelectorAll(".edit-form-group:not([data-wrong])")) {
      /** @type {HTMLDetailsElement} */ (group).open = false;
    }
  }
}
