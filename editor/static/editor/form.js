// @ts-check
// The form for a node: keeps the title on one line in a growing textarea, proposes a slug while the title is typed,
// fills in an offered slug, and selects "Write it myself" when an editor types a new text.
import { control, fetchJson, find } from "./dom.js";

// How many milliseconds typing must pause before a slug is proposed.
const WAIT = 250;

/** @param {HTMLFormElement} form */
function setUpOfferedSlugs(form) {
  const slug = control(form, "slug");
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (form.querySelectorAll(".use-slug"))) {
    button.addEventListener("click", () => {
      slug.value = button.dataset.slug;
      slug.dispatchEvent(new Event("input", { bubbles: true }));
      slug.focus();
    });
  }
}

/**
 * Don't submit a form with an incomplete date or time, because browsers would send an empty value.
 *
 * @param {HTMLFormElement} form
 */
function setUpDates(form) {
  form.addEventListener("submit", (event) => {
    /** @type {NodeListOf<HTMLInputElement>} */
    const inputs = form.querySelectorAll("input:is([type=date], [type=time])");
    const incomplete = [...inputs].find(({ validity }) => validity.badInput);
    if (!incomplete) return;
    event.preventDefault();
    incomplete.closest("details")?.setAttribute("open", "");
    incomplete.reportValidity();
  });
}

/** @param {HTMLFormElement} form */
function setUpClashes(form) {
  for (const clash of form.querySelectorAll(".clash")) {
    const own = find(clash, "input[type=radio][value=edit]", HTMLInputElement);
    clash.querySelector(".box")?.addEventListener("input", () => {
      if (own) own.checked = true;
    });
  }
}

/**
 * @param {HTMLFormElement} form
 * @param {HTMLTextAreaElement} title
 */
function setUpTitle(form, title) {
  const fit = () => {
    if (/[\r\n]/.test(title.value)) title.value = title.value.replace(/\s*[\r\n]+\s*/g, " ");
    if (CSS.supports("field-sizing", "content")) return;
    title.style.height = "auto";
    title.style.height = `${title.scrollHeight}px`;
  };
  title.addEventListener("input", fit);
  if (title.scrollHeight) fit();
  // Enter in the title moves the cursor to the text. If the form has no text field, Enter saves.
  title.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const next = form.querySelector('label[for="id_text"]') ?? form.querySelector("[name=_save]");
    /** @type {HTMLElement | null} */ (next)?.click();
  });
}

/**
 * Let Ctrl-S save without leaving the page. If possible, it presses a button that doesn't change what readers see.
 *
 * @param {HTMLFormElement} form
 */
function setUpShortcut(form) {
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "s" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    const button = form.querySelector("[data-save]") ?? form.querySelector("[name=_continue]");
    if (!button) return;
    event.preventDefault();
    // The fields of an open dialog are not part of the form yet.
    if (!document.querySelector("dialog[open]")) form.requestSubmit(/** @type {HTMLElement} */ (button));
  });
}

/**
 * While the title is typed, request slugs from the server, until the editor types a slug.
 *
 * @param {HTMLFormElement} form
 * @param {string} url
 */
function proposeSlugs(form, url) {
  const slug = control(form, "slug");
  const proposed = control(form, "_proposed");
  if (!slug || slug.value !== proposed.value) return;
  let isProposed = true;
  let asked = 0;
  let timer = 0;

  const ask = async () => {
    const number = ++asked;
    const query = new URLSearchParams({ title: control(form, "title").value, section: control(form, "section").value });
    try {
      const answer = await fetchJson(`${url}?${query}`);
      if (number === asked && isProposed) slug.value = proposed.value = answer.slug;
    } catch {
      // If there is no response, the server makes the slug when the form is saved.
    }
  };
  slug.addEventListener("input", (/** @type {Event} */ event) => {
    if (event.isTrusted) isProposed = slug.value === "";
  });
  for (const name of ["title", "section"]) {
    control(form, name).addEventListener("input", () => {
      if (!isProposed) return;
      clearTimeout(timer);
      timer = setTimeout(ask, WAIT);
    });
  }
}

const form = find(document, "#node_form", HTMLFormElement);
if (form) {
  setUpOfferedSlugs(form);
  setUpClashes(form);
  setUpDates(form);
  const title = control(form, "title");
  if (title) setUpTitle(form, title);
  setUpShortcut(form);
  if (form.dataset.propose) proposeSlugs(form, form.dataset.propose);
}
