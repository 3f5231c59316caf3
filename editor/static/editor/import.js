// @ts-check
// Uploads the file of an import in pieces, with a progress bar. Without this script, the browser sends the whole file
// with the form, which proxies accept only for small files.
import { control, create } from "./dom.js";

const ATTEMPTS = 5;
const PAUSE = 2000;
const MEGABYTE = 1_000_000;

/** The site refused the file. The message says why. */
class Refusal extends Error {}

/**
 * Send a piece of the file. If the connection is lost or the site is busy, try again.
 *
 * @param {string} url
 * @param {Blob} piece
 * @param {string} token
 */
async function send(url, piece, token) {
  const headers = { "Content-Type": "application/octet-stream", "X-CSRFToken": token };
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const answer = await fetch(url, { method: "POST", body: piece, headers }).catch(() => null);
    if (answer?.ok) return;
    if (answer?.status === 409) throw new Refusal((await answer.json()).reason);
    await new Promise((done) => setTimeout(done, PAUSE));
  }
  throw new Error("The piece was not sent.");
}

/** @param {Event} event */
const warn = (event) => event.preventDefault();

/**
 * Create the import, and return the URLs for its page and its pieces. If the form has errors, return null.
 *
 * @param {HTMLFormElement} form
 * @param {File} file
 */
async function begin(form, file) {
  const fields = new FormData(form);
  fields.delete("file");
  fields.set("filename", file.name);
  fields.set("size", String(file.size));
  const answer = await fetch(form.action, { method: "POST", body: fields });
  if (answer.ok) return await answer.json();
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const checked = page.getElementById(form.id);
  if (!checked) throw new Error("The form was not shown again.");
  form.querySelectorAll(".errornote, .errorlist").forEach((shown) => {
    shown.remove();
  });
  form.prepend(...checked.querySelectorAll(".errornote, .errorlist"));
  return null;
}

/**
 * @param {HTMLFormElement} form
 * @param {File} file
 */
async function run(form, file) {
  const token = control(form, "csrfmiddlewaretoken").value;
  const button = /** @type {HTMLInputElement} */ (form.querySelector("[type=submit]"));
  const bar = create("progress", { max: file.size, value: 0 });
  const status = create("span", { role: "status" });
  const box = create("p", { className: "working" }, bar, " ", status);
  const total = (file.size / MEGABYTE).toFixed(1);
  /** @param {number} sent */
  const show = (sent) => {
    bar.value = sent;
    status.textContent = (form.dataset.sending ?? "")
      .replace("{done}", (sent / MEGABYTE).toFixed(1))
      .replace("{total}", total);
    bar.ariaLabel = status.textContent;
  };
  form.querySelector(".working")?.remove();
  button.disabled = true;
  addEventListener("beforeunload", warn);
  try {
    const made = await begin(form, file);
    if (made) {
      form.append(box);
      show(0);
      for (let start = 0; start < file.size; start += made.size) {
        await send(`${made.pieces}${start / made.size}/`, file.slice(start, start + made.size), token);
        show(Math.min(start + made.size, file.size));
      }
      const check = new FormData();
      check.set("csrfmiddlewaretoken", token);
      check.set("dry_run", "1");
      await fetch(`${made.page}start/`, { method: "POST", body: check });
      removeEventListener("beforeunload", warn);
      location.assign(made.page);
      return;
    }
  } catch (error) {
    bar.remove();
    form.append(box);
    status.textContent = error instanceof Refusal ? error.message : (form.dataset.failed ?? "");
  }
  removeEventListener("beforeunload", warn);
  button.disabled = false;
}

const form = /** @type {HTMLFormElement | null} */ (document.getElementById("import_form"));
form?.addEventListener("submit", (event) => {
  const file = /** @type {HTMLInputElement} */ (control(form, "file")).files?.[0];
  event.preventDefault();
  if (file) run(form, file);
  else form.reportValidity();
});
