// @ts-check
// The field for a page's photo, which editors choose from the library, upload or drop. Without this script, they type
// the photo's URL.
import { showChoice } from "./chooser.js";
import { containsFiles, control, find, pictureFiles } from "./dom.js";
import { hasPicker, pickPhoto } from "./picker.js";
import { describePictures, hasPictureDialog } from "./pictures.js";

const field = control(find(document, "#node_form", HTMLFormElement), "picture");
const row = /** @type {HTMLElement | null | undefined} */ (field?.closest(".form-row"));
const buttons = row && find(row, ".picture-acts", HTMLElement);

/** @param {any} photo */
function take(photo) {
  field.value = `photo:${photo.id}`;
  showChoice(field, photo);
  field.dispatchEvent(new Event("change", { bubbles: true }));
}

/** @param {File[]} files */
function upload([file]) {
  if (file) describePictures([file], { take });
}

/**
 * @param {HTMLElement} row
 * @param {HTMLElement} buttons
 */
function setUp(row, buttons) {
  const input = /** @type {HTMLInputElement} */ (buttons.querySelector("input"));
  buttons.hidden = false;
  buttons.querySelector("[data-pick]")?.addEventListener("click", () => pickPhoto(take));
  input.addEventListener("change", (event) => {
    event.stopPropagation();
    upload([...(input.files ?? [])].filter(({ type }) => type.startsWith("image/")));
    input.value = "";
  });
  row.addEventListener("dragover", (event) => {
    if (!containsFiles(event.dataTransfer)) return;
    event.preventDefault();
    row.classList.add("over");
  });
  for (const name of ["dragleave", "drop"]) row.addEventListener(name, () => row.classList.remove("over"));
  row.addEventListener("drop", (event) => {
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    upload(pictureFiles(event.dataTransfer));
  });
}

if (row && buttons && hasPicker && hasPictureDialog) setUp(row, buttons);
