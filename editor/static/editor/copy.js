// @ts-check
// A button that copies the URL next to it. Browsers allow this only on secure pages.
import { create, find } from "./dom.js";

/** @param {HTMLElement} place */
function setUp(place) {
  const address = /** @type {HTMLInputElement} */ (place.querySelector("input"));
  const copy = create("button", { type: "button", className: "button", textContent: place.dataset.copy });
  const status = create("span", { className: "help", role: "status" });
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(address.value);
      status.textContent = place.dataset.copied ?? "";
    } catch {
      address.select(); // If the browser doesn't allow copying, users can copy the selected URL with the keyboard.
    }
  });
  place.append(copy, status);
}

const place = find(document, "[data-copy]", HTMLElement);
if (place && navigator.clipboard) setUp(place);
