// @ts-check
// Handles pictures that are dropped on or pasted into a text: asks for alternative text, uploads the pictures to a
// gallery, and inserts them.
import { containsFiles, control, create, find, pictureFiles } from "./dom.js";
import { setUpFrame } from "./framing.js";
import { editorOf, insertBlock, textarea } from "./insertion.js";
import { keepLines } from "./lines.js";
import { upload, uploadUrl } from "./upload.js";

/**
 * A picture in the dialog. `photo` is the site's response after the upload.
 *
 * @typedef {{ file: File, item: HTMLElement, photo: any }} Row
 */

const AT_ONCE = 2;
// Width of a picture in the dialog, in pixels.
const SMALL = 320;
const dialog = find(document, "#picture-dialog", HTMLDialogElement);
/**
 * What to do with the photos. `take` receives the first photo. `done` receives all photos when the dialog is closed, except
 * for pictures that weren't uploaded.
 *
 * @typedef {{ take?: ((photo: any) => void) | null, done?: ((photos: Map<File, any>) => void) | null }} Options
 */
/** @type {(files: File[], options: Options) => void} */
let open = () => {};

/** Whether this page has the dialog. Users who can't use galleries don't get it. */
export const hasPictureDialog = dialog !== null;

/**
 * Ask for the alternative text of these pictures, and upload the pictures.
 *
 * Without `take` and `done`, the pictures are inserted into the text.
 *
 * @param {File[]} files
 * @param {Options} [options]
 */
export function describePictures(files, options = {}) {
  open(files, options);
}

/**
 * @param {File} file
 * @param {HTMLImageElement} image
 */
async function preview(file, image) {
  try {
    const bitmap = await createImageBitmap(file, { resizeWidth: SMALL });
    const canvas = create("canvas", { width: bitmap.width, height: bitmap.height });
    canvas.getContext("2d")?.drawImage(bitmap, 0, 0);
    image.src = canvas.toDataURL();
    bitmap.close();
  } catch {
    // The browser can't show this format, but the server may support it.
  }
}

/**
 * @param {HTMLElement} item
 * @param {string} reason
 */
function showProblem(item, reason) {
  const problem = /** @type {HTMLElement} */ (item.querySelector(".refused"));
  problem.textContent = reason;
  problem.hidden = !reason;
}

/** @param {HTMLDialogElement} dialog */
function setUp(dialog) {
  const form = /** @type {HTMLFormElement} */ (dialog.querySelector("form"));
  const list = /** @type {HTMLElement} */ (dialog.querySelector(".photo-rows"));
  const blank = /** @type {HTMLTemplateElement} */ (dialog.querySelector("template"));
  const submit = /** @type {HTMLButtonElement} */ (form.querySelector("[value=upload]"));
  const token = find(document, "[name=csrfmiddlewaretoken]", HTMLInputElement)?.value ?? "";
  /** @type {Row[]} */
  let rows = [];
  /** @type {Options["take"]} */
  let receive = null;
  /** @type {Options["done"]} */
  let finish = null;

  keepLines(form, () => submit.click());
  const focusFirst = () => list.querySelector("textarea")?.focus();

  /** @param {Row} row */
  const show = (row) => {
    const { file, item } = row;
    /** @type {HTMLElement} */ (item.querySelector(".photo-row-name")).textContent = file.name;
    /** @type {HTMLInputElement} */ (item.querySelector("[name=title]")).placeholder = file.name.replace(
      /\.[^.]*$/,
      "",
    );
    item.querySelector("[data-remove]")?.addEventListener("click", () => {
      rows = rows.filter((one) => one !== row);
      item.remove();
      if (rows.length) focusFirst();
      else dialog.close();
    });
    setUpFrame(item.querySelector(".photo-pick"));
    preview(file, /** @type {HTMLImageElement} */ (item.querySelector("img")));
  };

  /** @param {Row} row */
  const send = async (row) => {
    const { file, item } = row;
    const body = new FormData();
    body.append("csrfmiddlewaretoken", token);
    for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (item.querySelectorAll("[name]"))) {
      body.append(field.name, field.value);
    }
    // A photo without alternative text is not published, and the edit form shows that readers can't see the photo.
    const alternative = /** @type {HTMLTextAreaElement} */ (item.querySelector("[name=alt]")).value.trim();
    if (control(form, "publish")?.checked && alternative) body.append("publish", "1");
    body.append("files", file, file.name || "picture.png");
    const bar = create("progress", { max: 1, value: 0, ariaLabel: file.name });
    item.querySelector(".photo-row-head")?.append(bar);
    showProblem(item, "");
    const url = uploadUrl(dialog.dataset.action ?? "", control(form, "gallery").value);
    const result = await upload(url, body, ({ loaded, total }) => {
      bar.value = loaded / total;
    });
    bar.remove();
    if (!result?.ok) return showProblem(item, (result ? result.reason : dialog.dataset.failed) ?? "");
    row.photo = result;
    item.classList.add("done");
    for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (item.querySelectorAll("[name], [data-remove]"))) {
      field.disabled = true;
    }
    return undefined;
  };

  open = (files, { take = null, done = null }) => {
    receive = take;
    finish = done;
    rows = files.map((file) => ({
      file,
      item: /** @type {HTMLElement} */ (blank.content.firstElementChild?.cloneNode(true)),
      photo: null,
    }));
    list.replaceChildren(...rows.map((row) => row.item));
    for (const row of rows) show(row);
    dialog.showModal();
    focusFirst();
  };

  dialog.addEventListener("close", () => {
    finish?.(new Map(rows.filter(({ photo }) => photo).map(({ file, photo }) => [file, photo])));
    finish = null;
  });

  form.addEventListener("submit", async (event) => {
    if (/** @type {HTMLButtonElement | null} */ (event.submitter)?.value === "cancel") return;
    event.preventDefault();
    const asked = rows;
    const waiting = rows.filter((row) => !row.photo);
    submit.disabled = true;
    const work = async () => {
      // Ignore pictures that have been removed or cancelled in the meantime. The dialog may already show other
      // pictures.
      for (let row = waiting.shift(); row; row = waiting.shift()) {
        if (dialog.open && rows.includes(row)) await send(row);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    submit.disabled = false;
    // The dialog was cancelled in the meantime. Pictures that were uploaded are in the library.
    if (!dialog.open || !asked.includes(rows[0])) return;
    const failed = rows.find((row) => !row.photo);
    if (failed) {
      failed.item.scrollIntoView({ block: "nearest" });
      return;
    }
    dialog.close();
    if (receive) receive(rows[0].photo);
    else if (!finish) insertBlock(rows.map((row) => row.photo.markdown).join("\n\n"));
  });
}

/**
 * Accept pictures that are dropped on the text or pasted into the text.
 *
 * The editor's element comes after the textarea. These listeners run before the editor's own listeners.
 *
 * @param {HTMLElement} place
 */
function listen(place) {
  /**
   * @param {Event} event
   * @param {DataTransfer | null} transfer
   */
  const accept = (event, transfer) => {
    const files = pictureFiles(transfer);
    if (!files.length) return;
    event.preventDefault();
    event.stopPropagation();
    describePictures(files);
  };
  place.addEventListener("paste", (event) => !editorOf(textarea) && accept(event, event.clipboardData), true);
  place.addEventListener(
    "dragover",
    (event) => {
      if (!containsFiles(event.dataTransfer)) return;
      event.preventDefault();
      event.stopPropagation();
      place.classList.add("over");
    },
    true,
  );
  for (const name of ["dragleave", "drop"]) {
    place.addEventListener(name, () => place.classList.remove("over"), true);
  }
  place.addEventListener("drop", (event) => accept(event, event.dataTransfer), true);
}

if (dialog) setUp(dialog);
if (dialog && textarea?.parentElement) listen(textarea.parentElement);
