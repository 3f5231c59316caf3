// @ts-check
// Bulk actions: sends the selected rows in small batches, with a progress bar and a stop button. The last batch is sent
// as an ordinary form, together with the outcome of the other batches, so that the next page reports all batches.
// Without this script, a single request contains all rows.
import { control, create } from "./dom.js";

const SIZE = 5;

/**
 * Add the outcome of the batches so far to the form.
 *
 * @param {HTMLFormElement} form
 * @param {FormData} fields
 */
function keepOutcome(form, fields) {
  const outcome = fields.get("so_far");
  if (outcome === null) return;
  const field = control(form, "so_far") ?? create("input");
  form.append(Object.assign(field, { type: "hidden", name: "so_far", value: outcome }));
}

/**
 * Show the progress.
 *
 * @param {HTMLFormElement} form
 * @param {number} total
 */
function makeView(form, total) {
  const words = form.dataset;
  const bar = create("progress", { max: total, value: 0, ariaLabel: words.working });
  const status = create("span", { role: "status" });
  const stop = create("button", { type: "button", className: "button", textContent: words.stop });
  const box = create("div", { className: "working" }, bar, status, stop);
  form.querySelector(".bulk, .submit-row")?.after(box);
  box.scrollIntoView({ block: "nearest" });
  /** @param {number} done */
  const show = (done) => {
    bar.value = done;
    status.textContent = (words.of ?? "").replace("{done}", String(done)).replace("{total}", String(total));
  };
  const fail = () => {
    bar.remove();
    stop.remove();
    status.textContent = words.broke ?? "";
  };
  show(0);
  return { stop, show, fail };
}

/**
 * Return the form's fields, without the rows.
 *
 * @param {HTMLFormElement} form
 */
function commonFields(form) {
  const fields = new FormData(form);
  for (const name of [...fields.keys()]) if (name === "chosen" || name.startsWith("nonce-")) fields.delete(name);
  fields.set("more", "1");
  return fields;
}

/**
 * @param {HTMLFormElement} form
 * @param {FormData} fields
 * @param {HTMLInputElement[]} rows
 */
function batch(form, fields, rows) {
  const body = new FormData();
  for (const [name, value] of fields) body.append(name, value);
  for (const row of rows) {
    const nonce = `nonce-${row.value}`;
    body.append("chosen", row.value);
    body.append(nonce, control(form, nonce).value);
  }
  return body;
}

/** @param {Event} event */
const warn = (event) => event.preventDefault();

/**
 * @param {HTMLFormElement} form
 * @param {HTMLInputElement[]} chosen
 */
async function run(form, chosen) {
  const fields = commonFields(form);
  const view = makeView(form, chosen.length);
  const buttons = /** @type {HTMLButtonElement[]} */ ([
    ...form.querySelectorAll("[type=submit], .action-select, #choose-all"),
  ]);
  let stopped = false;
  let done = 0;
  view.stop.addEventListener("click", () => {
    stopped = true;
    view.stop.disabled = true;
  });
  addEventListener("beforeunload", warn);
  for (const button of buttons) button.disabled = true;
  try {
    while (!stopped && chosen.length - done > SIZE) {
      const body = batch(form, fields, chosen.slice(done, done + SIZE));
      // Use location.href, because form.action is the form's "action" field.
      const answer = await fetch(location.href, {
        method: "POST",
        body,
        headers: { Accept: "application/json" },
        redirect: "manual",
      });
      if (answer.type === "opaqueredirect") {
        // The form was invalid. The list shows the errors.
        removeEventListener("beforeunload", warn);
        location.reload();
        return;
      }
      fields.set("so_far", (await answer.json()).so_far);
      done = Math.min(done + SIZE, chosen.length);
      view.show(done);
    }
  } catch {
    view.fail();
    removeEventListener("beforeunload", warn);
    for (const button of buttons) button.disabled = false;
    for (const row of chosen.slice(0, done)) Object.assign(row, { checked: false, disabled: true });
    keepOutcome(form, fields);
    return;
  }
  const rest = stopped ? [] : chosen.slice(done);
  for (const button of buttons) button.disabled = false;
  for (const row of chosen) row.disabled = !rest.includes(row);
  keepOutcome(form, fields);
  removeEventListener("beforeunload", warn);
  form.submit();
}

/** @param {HTMLFormElement} form */
function setUp(form) {
  form.addEventListener("submit", (event) => {
    const rows = /** @type {HTMLInputElement[]} */ ([...form.querySelectorAll("[name=chosen]")]);
    const chosen = rows.filter((row) => !row.disabled && (row.type === "hidden" || row.checked));
    const asking = (form.dataset.asks ?? "").split(" ");
    const asks = asking.includes(control(form, "action").value) && !control(form, "confirmed");
    if (chosen.length <= SIZE || asks || form.querySelector(".working progress")) return;
    event.preventDefault();
    form.querySelector(".working")?.remove();
    run(form, chosen);
  });
}

for (const form of document.querySelectorAll("form[data-bulk-progress]")) setUp(/** @type {HTMLFormElement} */ (form));
