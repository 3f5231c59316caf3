// @ts-check
// A dialog where editors choose photos from the library: one photo with a click, or several photos with a tray that shows
// their order. It searches as they type, and new photos can be uploaded in it.
import { containsFiles, create, fetchJson, find, pictureFiles } from "./dom.js";
import { setUpDragging } from "./dragging.js";
import { describePictures } from "./pictures.js";

/**
 * @typedef {{ id: string, ref?: string, title: string, thumbnail: string, markdown: string, public?: boolean }} Photo
 * @typedef {(photos: Photo[]) => void} Take
 * @typedef {{ one: boolean, acts: Record<string, Take>, most: number, chosen: Photo[] }} Options
 */

// How many milliseconds typing must pause before a request is sent.
const WAIT = 250;
// The maximum number of photos to choose, if the caller doesn't set another one. A gallery in a text shows as many photos.
const MOST = 48;
const ARROWS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];
const dialog = find(document, "#photo-picker", HTMLDialogElement);
/** @type {Picker | null} */
let picker = null;

/** Whether this page has the dialog. Users who can't use galleries don't get it. */
export const hasPicker = dialog !== null;

/**
 * Let the editor choose a photo. A click on the photo closes the dialog.
 *
 * @param {(photo: Photo) => void} take Receives the photo.
 */
export function pickPhoto(take) {
  picker?.open({ one: true, acts: { one: ([photo]) => take(photo) }, most: 1, chosen: [] });
}

/**
 * Let the editor choose several photos and their order.
 *
 * @param {Record<string, Take>} acts Functions that receive the photos, by the values of the dialog's buttons: "insert",
 *   "gallery" and "use".
 * @param {{ most?: number, chosen?: Photo[] }} [options] `chosen` is shown in the tray at first.
 */
export function pickPhotos(acts, { most = MOST, chosen = [] } = {}) {
  picker?.open({ one: false, acts, most, chosen });
}

/** The chosen photos in their order, which editors change by dragging or with buttons. */
class Tray {
  /** @type {Map<string, Photo>} */
  #photos = new Map();

  /**
   * @param {HTMLElement} list
   * @param {DOMStringMap} words
   * @param {() => void} changed
   */
  constructor(list, words, changed) {
    this.list = list;
    this.words = words;
    this.changed = changed;
    setUpDragging(list, {
      handle: "li > :is(img, span)",
      row: "li",
      label: ({ title }) => title,
      drop: (item, place, target) => target[place === "before" ? "before" : "after"](item),
      isHorizontal: true,
    });
  }

  /** The photos in the order of the list. */
  get photos() {
    const items = /** @type {HTMLElement[]} */ ([...this.list.children]);
    return items.map((item) => /** @type {Photo} */ (this.#photos.get(item.dataset.photo ?? "")));
  }

  get size() {
    return this.list.children.length;
  }

  /** @param {string} id */
  has(id) {
    return this.#photos.has(id);
  }

  clear() {
    this.#photos.clear();
    this.list.replaceChildren();
  }

  /** @param {Photo} photo */
  add(photo) {
    if (this.has(photo.id)) return;
    this.#photos.set(photo.id, photo);
    this.list.append(this.#item(photo));
    this.changed();
  }

  /** @param {string} id */
  remove(id) {
    this.#photos.delete(id);
    find(this.list, `[data-photo="${CSS.escape(id)}"]`, HTMLElement)?.remove();
    this.changed();
  }

  /** @param {Photo} photo */
  #item(photo) {
    const { words } = this;
    const item = create("li", { title: photo.title });
    item.dataset.photo = photo.id;
    /**
     * @param {string} text
     * @param {string | undefined} label
     * @param {(button: HTMLButtonElement) => void} press
     */
    const button = (text, label, press) => {
      const made = create("button", { type: "button", textContent: text, ariaLabel: `${label} ${photo.title}` });
      made.addEventListener("click", () => press(made));
      return made;
    };
    /** @param {HTMLButtonElement} pressed */
    const move = (pressed, isLater = false) => {
      if (isLater) item.nextElementSibling?.after(item);
      else item.previousElementSibling?.before(item);
      pressed.focus();
    };
    const remove = () => {
      const next = item.nextElementSibling ?? item.previousElementSibling;
      this.remove(photo.id);
      /** @type {HTMLElement | null | undefined} */ (next?.querySelector("button:nth-of-type(2)"))?.focus();
    };
    const image = photo.thumbnail
      ? create("img", { src: photo.thumbnail, alt: "", width: 72, height: 72, draggable: false })
      : create("span", { textContent: photo.title });
    item.append(
      image,
      button("‹", words.earlier, (pressed) => move(pressed)),
      button("×", words.remove, remove),
      button("›", words.later, (pressed) => move(pressed, true)),
    );
    return item;
  }
}

class Picker {
  /** @type {Photo[]} The photos in the list. */
  #photos = [];
  /** @type {Options} */
  #options = { one: true, acts: {}, most: 1, chosen: [] };
  #asked = 0;
  #more = "";
  #timer = 0;
  /** The photo that was last clicked. Shift and a click choose all photos between it and the clicked photo. */
  #anchor = -1;

  /** @param {HTMLDialogElement} dialog */
  constructor(dialog) {
    this.dialog = dialog;
    this.words = dialog.dataset;
    /** @type {<Type extends HTMLElement>(selector: string, type: new () => Type) => Type} */
    const part = (selector, type) => /** @type {any} */ (find(dialog, selector, type));
    this.search = part("input[type=search]", HTMLInputElement);
    this.section = part("select", HTMLSelectElement);
    this.files = part("input[type=file]", HTMLInputElement);
    this.list = part(".picker-list", HTMLElement);
    this.status = part(".picker-told", HTMLElement);
    this.moreButton = part("[data-more]", HTMLButtonElement);
    this.form = part("form", HTMLFormElement);
    this.tray = new Tray(part(".picker-chosen", HTMLElement), this.words, () => this.#showChosen());
    this.#listen();
  }

  /** @param {Options} options */
  open(options) {
    this.#options = options;
    this.#anchor = -1;
    this.search.value = "";
    this.section.value = "";
    this.list.replaceChildren();
    this.tray.clear();
    for (const photo of options.chosen) this.tray.add(photo);
    for (const button of this.form.querySelectorAll("button")) {
      button.hidden = button.value !== "cancel" && !(button.value in options.acts);
    }
    /** @type {HTMLElement} */ (this.dialog.querySelector("h2")).textContent =
      (options.one ? this.words.one : this.words.many) ?? "";
    this.#showChosen();
    this.dialog.showModal();
    this.search.focus();
    this.#load();
  }

  /** @param {string} act */
  #finish(act, photos = this.tray.photos) {
    // Wait until the dialog is closed, because closing it moves the focus back.
    this.dialog.addEventListener("close", () => this.#options.acts[act]?.(photos), { once: true });
    this.dialog.close();
  }

  /** Show the newest photos, or those that match the search. With `from`, add the next page of photos. */
  async #load(from = "") {
    const number = ++this.#asked;
    clearTimeout(this.#timer);
    const query = new URLSearchParams({ q: this.search.value, section: this.section.value, from });
    try {
      const { photos, more } = await fetchJson(`${this.words.source}?${query}`);
      if (number !== this.#asked) return;
      if (!from) this.#anchor = -1;
      this.#photos = from ? [...this.#photos, ...photos] : photos;
      const items = photos.map((/** @type {Photo} */ photo) => this.#item(photo));
      if (from) this.list.append(...items);
      else this.list.replaceChildren(...items);
      if (from) items[0]?.firstElementChild.focus();
      this.#more = more;
      this.status.textContent =
        (this.#photos.length ? "" : this.search.value.trim() ? this.words.none : this.words.empty) ?? "";
      this.#showChosen();
    } catch {
      if (number === this.#asked) this.status.textContent = this.words.failed ?? "";
    }
    this.moreButton.hidden = !this.#more;
  }

  /** @param {Photo} photo */
  #item(photo) {
    const image = create("img", { loading: "lazy", src: photo.thumbnail, alt: "", width: 160, height: 160 });
    const button = create("button", { type: "button" }, image, create("span", { textContent: photo.title }));
    if (!photo.public) button.append(create("small", { textContent: this.words.unpublished }));
    if (!this.#options.one) button.role = "checkbox";
    button.dataset.photo = photo.id;
    button.addEventListener("click", ({ shiftKey }) => {
      if (this.#options.one) this.#finish("one", [photo]);
      else this.#toggle(photo, shiftKey);
    });
    return create("li", {}, button);
  }

  /**
   * @param {Photo} photo
   * @param {boolean} isRange
   */
  #toggle(photo, isRange) {
    const at = this.#photos.indexOf(photo);
    const from = isRange && this.#anchor >= 0 ? this.#anchor : at;
    this.#anchor = at;
    if (from === at && this.tray.has(photo.id)) this.tray.remove(photo.id);
    else for (const one of this.#photos.slice(Math.min(from, at), Math.max(from, at) + 1)) this.#add(one);
  }

  /** @param {Photo} photo */
  #add(photo) {
    const { most } = this.#options;
    if (this.tray.size < most) this.tray.add(photo);
    else if (!this.tray.has(photo.id)) this.status.textContent = `${this.words.full} ${most}`;
  }

  /** Show which photos are chosen, and how many. */
  #showChosen() {
    const { size } = this.tray;
    const buttons = /** @type {NodeListOf<HTMLElement>} */ (this.list.querySelectorAll("[data-photo]"));
    for (const [index, button] of buttons.entries()) {
      if (!this.#options.one) button.ariaChecked = String(this.tray.has(button.dataset.photo ?? ""));
      // The list is a single Tab stop, and the arrow keys move within it.
      button.tabIndex = index === Math.max(0, this.#anchor) ? 0 : -1;
    }
    /** @type {HTMLElement} */ (this.dialog.querySelector(".picker-tray")).hidden = !size;
    /** @type {HTMLElement} */ (this.dialog.querySelector(".picker-count")).textContent =
      `${this.words.chosen} ${size}`;
    for (const button of this.form.querySelectorAll("button")) {
      // An empty tray can also be used, because it empties a field.
      button.disabled = ["insert", "gallery"].includes(button.value) && !size;
    }
  }

  /**
   * Upload files, and choose the new photos.
   *
   * @param {File[]} files
   */
  #upload(files) {
    if (!files.length) return;
    const { one } = this.#options;
    if (one) {
      describePictures(files.slice(0, 1), { take: (photo) => this.#finish("one", [photo]) });
      return;
    }
    const done = (/** @type {Map<File, Photo>} */ photos) => {
      for (const photo of photos.values()) this.#add(photo);
      this.#load();
    };
    describePictures(files, { done });
  }

  /** @param {KeyboardEvent} event */
  #moveFocus(event) {
    const buttons = /** @type {HTMLElement[]} */ ([...this.list.querySelectorAll("[data-photo]")]);
    const at = buttons.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    if (at < 0 || !ARROWS.includes(event.key)) return;
    event.preventDefault();
    const top = buttons[0].offsetTop;
    const columns = buttons.filter(({ offsetTop }) => offsetTop === top).length;
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key] ?? 0;
    const next = buttons[at + step];
    if (!next) return;
    buttons[at].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  #listen() {
    const { dialog, files, search } = this;
    search.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#load(), WAIT);
    });
    search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.#load();
      else if (event.key === "ArrowDown") find(this.list, "[tabindex='0']", HTMLElement)?.focus();
      else return;
      event.preventDefault();
    });
    this.section.addEventListener("change", () => this.#load());
    this.moreButton.addEventListener("click", () => this.#load(this.#more));
    this.list.addEventListener("keydown", (event) => this.#moveFocus(event));
    this.form.addEventListener("submit", (event) => {
      const { value } = /** @type {HTMLButtonElement} */ (event.submitter);
      if (value === "cancel") return;
      event.preventDefault();
      this.#finish(value);
    });
    files.addEventListener("change", () => {
      this.#upload([...(files.files ?? [])]);
      files.value = "";
    });
    dialog.addEventListener("dragover", (event) => {
      if (containsFiles(event.dataTransfer)) event.preventDefault();
    });
    dialog.addEventListener("drop", (event) => {
      if (!containsFiles(event.dataTransfer)) return;
      event.preventDefault();
      this.#upload(pictureFiles(event.dataTransfer));
    });
  }
}

if (dialog) picker = new Picker(dialog);
