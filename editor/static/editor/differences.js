// @ts-check
// The differences of two versions: remembers whether the editor wants to see texts as source.
import { recall, remember } from "./storage.js";

const KEY = "differences:source";

/**
 * Show the texts below `root` as the editor last chose.
 *
 * @param {ParentNode} root
 */
export function applyView(root) {
  for (const box of root.querySelectorAll(".show-source")) {
    /** @type {HTMLInputElement} */ (box).checked = recall(KEY) === "true";
  }
}

document.addEventListener("change", ({ target }) => {
  if (!(target instanceof HTMLInputElement && target.matches(".show-source"))) return;
  remember(KEY, String(target.checked));
  applyView(document);
});
applyView(document);
