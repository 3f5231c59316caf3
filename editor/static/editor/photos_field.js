// @ts-check
// Fields with several photos, in the forms of pages and of inserts. Editors choose the photos and their order in a dialog,
// and the field shows the photos. Without this script, editors type references.
import { create, find } from "./dom.js";
import { pickPhotos } from "./picker.js";
import { Targets } from "./targets.js";

/** @typedef {HTMLInputElement | HTMLTextAreaElement} Field */
/** @typedef {import("./picker.js").Photo} Photo */

const words = find(document, "#photo-picker", HTMLDialogElement)?.dataset;

/**
 * Return references to photos, as fields and inserts contain them.
 *
 * @param {Photo[]} photos
 */
export const joinPhotos = (photos, separator = ",") =>
  photos.map(({ id, ref }) => ref ?? `photo:${id}`).join(separator);

/**
 * @param {Field} field
 * @param {DOMStringMap} words
 */
function setUp(field, words) {
  const strip = create("ul", { className: "chosen-photos" });
  const button = create("button", { type: "button", className: "button", textContent: words.many });
  const refs = () => field.value.split(/[\s,]+/).filter(Boolean);
  /** @returns {Photo[]} */
  const photos = () =>
    refs().map((ref) => {
      const target = targets.get(ref);
      if (!target?.thumbnail) return { id: ref, ref, title: ref, thumbnail: "", markdown: "" };
      return { id: target.ref.replace("photo:", ""), title: target.title, thumbnail: target.thumbnail, markdown: "" };
    });
  const show = () => {
    const items = photos().map(({ title, thumbnail }) =>
      thumbnail
        ? create("img", { src: thumbnail, alt: title, title, width: 56, height: 56 })
        : create("span", { textContent: title }),
    );
    strip.replaceChildren(...items.map((item) => create("li", {}, item)));
  };
  const targets = new Targets(words.targets ?? "", show);

  button.addEventListener("click", () => {
    /** @param {Photo[]} chosen */
    const use = (chosen) => {
      field.value = joinPhotos(chosen, field instanceof HTMLTextAreaElement ? "\n" : ",");
      for (const name of ["input", "change"]) field.dispatchEvent(new Event(name, { bubbles: true }));
      button.focus();
    };
    pickPhotos({ use }, { most: Number(field.dataset.most) || undefined, chosen: photos() });
  });
  // Other scripts also change the value, for example when they restore unsaved text.
  for (const name of ["input", "change"]) field.addEventListener(name, show);
  field.form?.addEventListener("reset", () => setTimeout(show));
  strip.ariaLabel = field.labels?.[0]?.textContent ?? "";
  field.hidden = true;
  field.after(strip, button);
  show();
}

if (words) {
  for (const field of document.querySelectorAll("[data-photos]")) setUp(/** @type {Field} */ (field), words);
}
