// @ts-check
// The lists of nodes and photos: selects all rows on the page, and shows the bulk actions while rows are selected.
// The list's section and state are remembered in this browser, so that the rail's link opens the same list again.
// After uploads, the list shows the new photos or files.
import { find } from "./dom.js";

/**
 * @param {HTMLFormElement} form
 * @param {HTMLInputElement} all
 * @param {HTMLSelectElement} action
 */
function setUp(form, all, action) {
  const boxes = () => /** @type {HTMLInputElement[]} */ ([...form.querySelectorAll(".action-select")]);
  const bar = /** @type {HTMLElement} */ (form.querySelector(".bulk"));
  const count = /** @type {HTMLElement} */ (form.querySelector(".chosen-count"));
  const tags = find(form, ".bulk-tags", HTMLElement);
  const target = find(form, ".bulk-target", HTMLElement);

  const showCount = () => {
    const rows = boxes();
    const chosen = rows.filter((box) => box.checked).length;
    bar.hidden = !chosen;
    count.textContent = chosen ? `${chosen} ${count.dataset.label}` : "";
    all.checked = chosen > 0 && chosen === rows.length;
    all.indeterminate = chosen > 0 && chosen < rows.length;
    for (const box of rows) box.closest("tr, li")?.classList.toggle("selected", box.checked);
  };
  // Show only the fields that the chosen action needs.
  const showFields = () => {
    if (tags) tags.hidden = !["tag", "untag"].includes(action.value);
    if (target) target.hidden = action.value !== "move";
  };
  const label = all.closest("label");
  all.hidden = false;
  if (label) label.hidden = false;
  all.addEventListener("change", () => {
    for (const box of boxes()) box.checked = all.checked;
    showCount();
  });
  form.addEventListener("change", (event) => {
    if (/** @type {Element} */ (event.target).matches(".action-select")) showCount();
  });
  action.addEventListener("change", showFields);
  showCount();
  showFields();
}

/**
 * Show the saved filters instead of the link to their page. If this fails, the link stays.
 *
 * @param {HTMLElement} place
 */
async function showSavedFilters(place) {
  const link = find(place, "a", HTMLAnchorElement);
  if (!link) return;
  const answer = await fetch(link.href);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const saved = find(page, "#saved-filters", HTMLElement);
  if (answer.ok && saved) place.replaceWith(saved);
}

/**
 * Load the rows and the count again. Selected rows stay selected. A running bulk action needs the present rows.
 *
 * @param {HTMLFormElement} form
 */
async function refresh(form) {
  const answer = await fetch(location.href);
  if (!answer.ok || form.querySelector(".working progress")) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const chosen = new FormData(form).getAll("chosen");
  for (const part of ["#result_list > tbody", ".photo-grid", ".paginator"]) {
    const fresh = page.querySelector(`#changelist-form ${part}`);
    if (fresh) form.querySelector(part)?.replaceWith(fresh);
  }
  const boxes = /** @type {NodeListOf<HTMLInputElement>} */ (form.querySelectorAll(".action-select"));
  for (const box of boxes) box.checked = chosen.includes(box.value);
  boxes[0]?.dispatchEvent(new Event("change", { bubbles: true }));
}

const query = new URLSearchParams(location.search);
for (const name of [...query.keys()]) if (!["section", "state"].includes(name) || !query.get(name)) query.delete(name);
localStorage.setItem(`list:${location.pathname}`, query.toString());

const saved = find(document, "#saved-filters", HTMLElement);
const filters = find(document, ".list-fold", HTMLDetailsElement);
if (saved) filters?.addEventListener("toggle", () => showSavedFilters(saved), { once: true });

const form = find(document, "#changelist-form", HTMLFormElement);
const all = find(document, "#choose-all", HTMLInputElement);
const action = form && find(form, "#bulk-action", HTMLSelectElement);
if (form && all && action) setUp(form, all, action);
if (form) document.addEventListener("uploaded", () => refresh(form));
