// @ts-check
// The photo library: uploads several files by drag and drop, with a progress bar and a result for each file, reloads a
// photo's page without losing typed values, and lets editors describe new photos.
import { control, create, find } from "./dom.js";
import { setUpFrame } from "./framing.js";
import { keepLines } from "./lines.js";
import { upload, uploadUrl } from "./upload.js";

const AT_ONCE = 2;
const page = find(document, "#node_form", HTMLFormElement);
const describing = find(document, "#describe", HTMLFormElement);

/* The form for describing new photos. */

let isDescribing = false;

/** List the photos without alternative text. */
function countLacking() {
  if (!describing) return;
  const rows = [...describing.querySelectorAll(".photo-row")].filter(
    (row) => !row.querySelector("textarea")?.value.trim(),
  );
  const names = rows.map(
    (row) =>
      /** @type {HTMLInputElement} */ (row.querySelector('[name$="title"]')).value ||
      row.querySelector(".photo-row-head a")?.textContent,
  );
  const lacking = /** @type {HTMLElement} */ (describing.querySelector(".photo-lacking"));
  lacking.textContent = names.length ? `${describing.dataset.lacking} ${names.join(", ")}` : "";
}

/** @param {HTMLFormElement} form */
function setUpDescribing(form) {
  form.addEventListener("input", () => {
    isDescribing = true;
    countLacking();
  });
  form.addEventListener("submit", () => {
    isDescribing = false;
  });
  window.addEventListener("beforeunload", (event) => {
    if (isDescribing) event.preventDefault();
  });
  countLacking();
}

/**
 * Replace an upload's row with the row for describing its photo. Return whether the form had room for the row.
 *
 * @param {HTMLFormElement} form The upload form.
 * @param {HTMLFormElement} describing
 * @param {HTMLElement} item
 * @param {any} result
 */
async function describe(form, describing, item, result) {
  /** @type {Element | null} */
  let row = null;
  try {
    const answer = await fetch(result.describe);
    const html = answer.ok ? await answer.text() : "";
    row = new DOMParser().parseFromString(html, "text/html").querySelector(".photo-row");
  } catch {
    // If there is no response, the row links to the photo's own page.
  }
  // If the form already contains the maximum number of photos, further photos are described on their own pages.
  if (!row || describing.querySelectorAll(".photo-row").length >= Number(form.dataset.most)) return false;
  for (const text of [form.dataset.done, result.note]) {
    if (text) row.querySelector(".photo-row-head")?.append(" ", create("small", { textContent: text }));
  }
  item.replaceWith(row);
  /** @type {HTMLElement} */ (describing.querySelector(".submit-row")).hidden = false;
  setUpFrame(row.querySelector(".photo-pick"));
  countLacking();
  return true;
}

/* The values on a photo's page. */

const typedValues = () => page && new URLSearchParams(/** @type {any} */ (new FormData(page))).toString();
const valuesAtFirst = typedValues();

/** Reload the page with the unsaved values of its form. */
function reload() {
  if (!page || typedValues() === valuesAtFirst) return window.location.reload();
  page.append(create("input", { type: "hidden", name: "_kept", value: "1" }));
  return page.submit();
}

/** @param {HTMLFormElement} form A form that restores a previous file. */
function setUpFormer(form) {
  form.addEventListener("submit", async (event) => {
    if (typedValues() === valuesAtFirst) return;
    event.preventDefault();
    await fetch(form.action, { method: "POST", body: new FormData(form), redirect: "manual" });
    reload();
  });
}

/* Uploads. */

/**
 * Show an upload's result in its row, with a link to the photo.
 *
 * @param {HTMLElement} item
 * @param {any} result
 */
function showResult(item, result) {
  const [picture, text] = item.children;
  if (result.thumbnail) picture.append(create("img", { src: result.thumbnail, alt: "" }));
  text.replaceChildren(create("a", { href: result.url, textContent: result.title }));
  if (result.note) text.append(create("small", { className: "noted", textContent: ` ${result.note}` }));
  item.classList.add("done");
}

/**
 * @param {HTMLElement} item
 * @param {string} name
 * @param {string} reason
 */
function showFailure(item, name, reason) {
  item.children[1].replaceChildren(`${name}: `, create("span", { className: "refused", textContent: reason }));
  item.classList.add("failed");
}

/** @param {HTMLFormElement} form */
function setUpUploads(form) {
  const words = form.dataset;
  // If the page has a form for describing new photos, the form's rows replace the rows of the uploads.
  const describer = form.querySelector(".photo-results") ? null : describing;
  const results = /** @type {HTMLElement} */ ((describer ?? form).querySelector(".photo-results"));
  const input = /** @type {HTMLInputElement} */ (form.querySelector("input[type=file]"));
  const gallery = find(form, "[data-gallery]", HTMLSelectElement);
  /** @type {{ file: File, url: string, item: HTMLElement }[]} */
  const queue = [];
  let running = 0;
  let anyDone = false;

  /** @param {File} file */
  const makeRow = (file) => {
    const bar = create("progress", { max: 1, value: 0, ariaLabel: file.name });
    const state = create("span", {}, bar, words.waiting ?? "");
    const item = create("li", {}, create("span"), create("span", { textContent: file.name }), state);
    results.append(item);
    return item;
  };
  /** @param {{ file: File, url: string, item: HTMLElement }} entry */
  const send = async ({ file, url, item }) => {
    const state = item.children[2];
    const bar = /** @type {HTMLProgressElement} */ (item.querySelector("progress"));
    const body = new FormData();
    body.append("csrfmiddlewaretoken", control(form, "csrfmiddlewaretoken").value);
    if (control(form, "publish")?.checked) body.append("publish", "1");
    body.append("files", file, file.name);
    const result = await upload(url, body, ({ loaded, total }) => {
      bar.value = loaded / total;
      if (bar.nextSibling) bar.nextSibling.textContent = loaded === total ? (words.checking ?? "") : "";
    });
    state.textContent = result?.ok ? (words.done ?? "") : "";
    if (!result?.ok) return showFailure(item, result?.name ?? file.name, result?.reason ?? words.failed ?? "");
    anyDone = true;
    if (!describer || !(await describe(form, describer, item, result))) showResult(item, result);
    return undefined;
  };
  const next = () => {
    for (let entry = running < AT_ONCE && queue.shift(); entry; entry = running < AT_ONCE && queue.shift()) {
      running += 1;
      send(entry).then(() => {
        running -= 1;
        next();
      });
    }
    // Leaving the page would abort running uploads.
    for (const button of describer?.querySelectorAll(".submit-row [type=submit]") ?? []) {
      /** @type {HTMLButtonElement} */ (button).disabled = running > 0;
    }
    if (running || !anyDone) return;
    if ("reload" in words) reload();
    // The list below the form shows the new files.
    else document.dispatchEvent(new Event("uploaded"));
  };
  const action = () => (gallery ? uploadUrl(words.action ?? "", gallery.value) : form.action);
  /** @param {FileList | null | undefined} files */
  const add = (files) => {
    const url = action();
    for (const file of files ?? []) queue.push({ file, url, item: makeRow(file) });
    next();
  };

  /** @type {HTMLElement} */ (form.querySelector("[data-plain]")).hidden = true;
  window.addEventListener("beforeunload", (event) => {
    if (running) event.preventDefault();
  });
  input.addEventListener("change", () => {
    add(input.files);
    input.value = "";
  });
  gallery?.addEventListener("change", () => {
    form.action = action();
  });
  for (const name of ["dragenter", "dragover"]) {
    form.addEventListener(name, (event) => {
      event.preventDefault();
      form.classList.add("over");
    });
  }
  for (const name of ["dragleave", "drop"]) {
    form.addEventListener(name, (event) => {
      event.preventDefault();
      form.classList.remove("over");
    });
  }
  form.addEventListener("drop", (event) => add(event.dataTransfer?.files));
}

for (const form of document.querySelectorAll("form[data-upload]")) {
  setUpUploads(/** @type {HTMLFormElement} */ (form));
}
for (const form of document.querySelectorAll(".photo-former form")) {
  setUpFormer(/** @type {HTMLFormElement} */ (form));
}
if (page) keepLines(page);
if (describing) {
  keepLines(describing);
  setUpDescribing(describing);
}
