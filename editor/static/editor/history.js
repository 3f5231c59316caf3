// @ts-check
// The timeline of saves: shows the changes of a save below it. Without this script, the links open their own pages.
import { applyView } from "./differences.js";
import { find } from "./dom.js";

/**
 * Fetch the differences at a URL.
 *
 * @param {string} url
 */
async function fetchChanges(url) {
  const answer = await fetch(url);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const changes = find(page, ".differences", HTMLElement);
  if (!answer.ok || !changes) throw new Error(`${answer.status} ${url}`);
  return changes;
}

/** @param {HTMLAnchorElement} link */
async function toggle(link) {
  const item = /** @type {HTMLElement} */ (link.closest("li"));
  const isOpen = link.ariaExpanded === "true";
  const shown = find(item, ".differences", HTMLElement);
  if (shown) shown.hidden = isOpen;
  else item.append(await fetchChanges(link.href));
  applyView(item);
  link.ariaExpanded = String(!isOpen);
}

/** @type {NodeListOf<HTMLAnchorElement>} */
const links = document.querySelectorAll(".timeline [data-inline]");
for (const link of links) {
  link.role = "button";
  link.ariaExpanded = "false";
  link.addEventListener("keydown", (event) => {
    if (event.key !== " ") return;
    event.preventDefault();
    link.click();
  });
  link.addEventListener("click", async (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (link.ariaBusy === "true") return;
    link.ariaBusy = "true";
    try {
      await toggle(link);
    } catch {
      location.assign(link.href);
    }
    link.ariaBusy = null;
  });
}
