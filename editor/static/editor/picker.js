// @ts-check
// A dialog where editors choose a photo from the library. It searches as they type.
import { create, fetchJson, find } from "./dom.js";
import { insertBlock } from "./insertion.js";
import { describePictures } from "./pictures.js";

/** @typedef {{ id: string, title: string, thumbnail: string, markdown: string, public: boolean }} Photo */

// How many milliseconds typing must pause before a request is sent.
const WAIT = 250;
const dialog = find(document, "#photo-picker", HTMLDialogElement);
/** @type {((photo: any) => void) | null} */
let receive = null;
/** @type {() => void} */
let begin = () => {};

/** Whether this page has the dialog. Users who can't use galleries don't get it. */
export const hasPicker = dialog !== null;

/**
 * Open the dialog.
 *
 * @param {(photo: Photo) => void} [take] Receives the photo. Without `take`, the photo is inserted into the text, and
 *   can be a new upload.
 */
export function pickPhoto(take) {
  receive = take ?? null;
  begin();
}

/** @param {HTMLDialogElement} dialog */
function setUp(dialog) {
  const search = /** @type {HTMLInputElement} */ (dialog.querySelector("input[type=search]"));
  const list = /** @type {HTMLElement} */ (dialog.querySelector(".picker-photos"));
  const status = /** @type {HTMLElement} */ (dialog.querySelector(".picker-told"));
  const files = find(dialog, "input[type=file]", HTMLInputElement);
  const words = dialog.dataset;
  let asked = 0;
  let timer = 0;

  /** @param {Photo} photo */
  const choice = (photo) => {
    const image = create("img", { loading: "lazy", src: photo.thumbnail, alt: "", width: 160, height: 160 });
    const button = create("button", { type: "button" }, image, create("span", { textContent: photo.title }));
    if (!photo.public) button.append(create("small", { textContent: words.unpublished }));
    button.addEventListener("click", () => {
      dialog.close();
      if (receive) receive(photo);
      else insertBlock(photo.markdown);
    });
    return create("li", {}, button);
  };
  const show = async () => {
    const number = ++asked;
    try {
      const { photos } = await fetchJson(`${words.source}?${new URLSearchParams({ q: search.value })}`);
      if (number !== asked) return;
      list.replaceChildren(...photos.map(choice));
      status.textContent = (photos.length ? "" : search.value.trim() ? words.none : words.empty) ?? "";
    } catch {
      if (number === asked) status.textContent = words.failed ?? "";
    }
  };
  begin = () => {
    if (files?.parentElement) files.parentElement.hidden = receive !== null;
    search.value = "";
    list.replaceChildren();
    status.textContent = "";
    dialog.showModal();
    search.focus();
    show();
  };

  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(show, WAIT);
  });
  // Enter in the search field must not press one of the dialog's buttons.
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    clearTimeout(timer);
    show();
  });
  files?.addEventListener("change", () => {
    const chosen = [...(files.files ?? [])];
    if (!chosen.length) return;
    dialog.close();
    describePictures(chosen);
    files.value = "";
  });
}

if (dialog) setUp(dialog);
