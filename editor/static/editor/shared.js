// @ts-check
// Updates the preview of search results and shared links while text is typed. Without this script, the preview doesn't
// change.
import { control, create, find } from "./dom.js";

// How many characters of a title and of a description search engines show.
const LENGTHS = { seo_title: 60, seo_description: 160 };
const form = find(document, "#node_form", HTMLFormElement);
const shared = form && find(form, ".shared", HTMLElement);

/**
 * @param {string} words
 * @param {number} most
 */
const cut = (words, most) => ([...words].length > most ? `${[...words].slice(0, most - 1).join("")}…` : words);

/**
 * Return a function that shows a field's character count next to its label.
 *
 * @param {HTMLInputElement | HTMLTextAreaElement} field
 * @param {number} most
 */
function makeCounter(field, most) {
  const counter = create("span", { className: "counter" });
  field.closest(".form-row")?.querySelector("label")?.append(" ", counter);
  return () => {
    counter.textContent = `${[...field.value].length} / ${most}`;
  };
}

/**
 * @param {HTMLFormElement} form
 * @param {HTMLElement} shared
 */
function setUp(form, shared) {
  /** @param {...string} names */
  const firstTyped = (...names) => names.map((name) => control(form, name)?.value.trim()).find(Boolean) ?? "";
  const counters = Object.entries(LENGTHS)
    .filter(([name]) => control(form, name))
    .map(([name, most]) => makeCounter(control(form, name), most));
  const card = /** @type {HTMLElement} */ (shared.querySelector(".shared-card"));
  const image = card.querySelector("img") ?? create("img", { width: 80, height: 80, alt: "" });
  const picture = control(form, "picture");

  const source = () => {
    const chosen = picture?.value ? picture.closest(".form-row")?.querySelector(".chosen:not([hidden]) img") : null;
    return chosen?.getAttribute("src") || shared.dataset.thumbnail;
  };
  const show = () => {
    const texts = {
      title: cut(firstTyped("seo_title", "title"), LENGTHS.seo_title),
      description: cut(
        firstTyped("seo_description", "summary") || (shared.dataset.excerpt ?? ""),
        LENGTHS.seo_description,
      ),
    };
    for (const [name, text] of Object.entries(texts)) {
      for (const place of shared.querySelectorAll(`[data-${name}]`)) place.textContent = text;
    }
    for (const count of counters) count();
    const url = source();
    if (!url) image.remove();
    else if (url !== image.getAttribute("src") || !image.isConnected) {
      image.src = url;
      card.prepend(image);
    }
  };
  // Run after the fields' own listeners, which may change the values.
  for (const kind of ["input", "change"]) form.addEventListener(kind, () => setTimeout(show));
  show();
}

if (form && shared) setUp(form, shared);
