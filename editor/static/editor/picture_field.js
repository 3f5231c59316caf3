// @ts-check
// Fields for photos, which editors choose from the library, upload or drop. Without this script, they type the photo's
// URL.
import { showChoice } from "./chooser.js";
import { containsFiles, control, create, pictureFiles } from "./dom.js";
import { hasPicker, pickPhoto } from "./picker.js";
import { describePictures, hasPictureDialog } from "./pictures.js";
import { upload } from "./upload.js";

/**
 * Upload a photo to the library, and publish it. Its alternative text is the value of another field.
 *
 * @param {File} file
 * @param {HTMLElement} buttons
 * @param {HTMLFormElement} form
 */
async function uploadDirectly(file, buttons, form) {
  const { upload: url = "", altFrom = "", failed = "" } = buttons.dataset;
  const body = new FormData();
  body.append("csrfmiddlewaretoken", control(form, "csrfmiddlewaretoken").value);
  body.append("alt", control(form, altFrom).value || file.name);
  body.append("publish", "1");
  body.append("files", file);
  const bar = create("progress", { max: 1, value: 0, ariaLabel: file.name });
  buttons.append(bar);
  const result = await upload(url, body, ({ loaded, total }) => {
    bar.value = loaded / total;
  });
  bar.remove();
  if (result?.ok) return result;
  throw new Error(result?.reason ?? failed);
}

/** @param {HTMLElement} buttons */
function setUp(buttons) {
  const row = /** @type {HTMLElement} */ (buttons.closest(".form-row"));
  const field = /** @type {HTMLInputElement} */ (row.querySelector("[data-choose]"));
  const form = /** @type {HTMLFormElement} */ (field.form);
  const input = /** @type {HTMLInputElement} */ (buttons.querySelector("input"));
  const problem = create("p", { className: "refused", hidden: true });
  problem.setAttribute("role", "alert");

  /** @param {any} photo */
  const take = (photo) => {
    field.value = `photo:${photo.id}`;
    showChoice(field, photo);
    field.dispatchEvent(new Event("change", { bubbles: true }));
  };
  /** @param {File[]} files */
  const add = async ([file]) => {
    if (!file) return;
    if (!buttons.dataset.altFrom) {
      describePictures([file], { take });
      return;
    }
    problem.hidden = true;
    try {
      take(await uploadDirectly(file, buttons, form));
    } catch (error) {
      problem.textContent = /** @type {Error} */ (error).message;
      problem.hidden = false;
    }
  };

  buttons.hidden = false;
  buttons.after(problem);
  buttons.querySelector("[data-pick]")?.addEventListener("click", () => pickPhoto(take));
  input.addEventListener("change", (event) => {
    event.stopPropagation();
    add([...(input.files ?? [])].filter(({ type }) => type.startsWith("image/")));
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
    add(pictureFiles(event.dataTransfer));
  });
}

if (hasPicker && hasPictureDialog) {
  for (const buttons of document.querySelectorAll(".picture-acts")) setUp(/** @type {HTMLElement} */ (buttons));
}
