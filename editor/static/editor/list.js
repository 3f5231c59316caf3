// @ts-check
// The lists of nodes and photos: selects all rows on the page, and shows the bulk actions while rows are selected.
// The list's section and state are remembered in this browser, so that the rail's link opens the same list again.
import { find } from "./dom.js";

/**
 * @param {HTMLFormElement} form
 * @param {HTMLInputElement} all
 * @param {HTMLSelectElement} action
 */
function setUp(form, all, action) {
  const boxes = /** @type {HTMLInputElement[]} */ ([...form.querySelectorAll(".action-select")]);
  const bar = /** @type {HTMLElement} */ (form.querySelector(".bulk"));
  const count = /** @type {HTMLElement} */ (form.querySelector(".chosen-count"));
  const tags = find(form, ".bulk-tags", HTMLElement);
  const target = find(form, ".bulk-target", HTMLElement);

  const showCount = () => {
    const chosen = boxes.filter((box) => box.checked).length;
    bar.hidden = !chosen;
    count.textContent = chosen ? `${chosen} ${count.dataset.label}` : "";
    all.checked = chosen > 0 && chosen === boxes.length;
    all.indeterminate = chosen > 0 && chosen < boxes.length;
    for (const box of boxes) box.closest("tr, li")?.classList.toggle("selected", box.checked);
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
    for (const box of boxes) box.checked = all.checked;
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
