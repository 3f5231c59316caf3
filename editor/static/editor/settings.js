// @ts-check
// The site's settings: asks before unsaved changes are lost, and shows a preview next to the form, which is the home page
// with the settings in the form.
import { find, parseFragment } from "./dom.js";
import { Preview } from "./preview.js";

/** @param {HTMLFormElement} form */
function protectChanges(form) {
  let isUnsaved = "unstored" in form.dataset;
  for (const name of ["input", "change"]) {
    form.addEventListener(name, () => {
      isUnsaved = true;
    });
  }
  form.addEventListener("submit", ({ submitter }) => {
    // The preview opens in another tab.
    if (!submitter?.hasAttribute("formtarget")) isUnsaved = false;
  });
  window.addEventListener("beforeunload", (event) => {
    if (isUnsaved) event.preventDefault();
  });
}

/**
 * @param {HTMLFormElement} form
 * @param {HTMLElement} side
 * @param {HTMLElement} device
 */
function setUpPreview(form, side, device) {
  const swatches = find(form, ".swatches", HTMLElement);
  const words = /** @type {any} */ (side.dataset);
  const preview = new Preview(words, form, (answer) => swatches?.replaceChildren(...parseFragment(answer.swatches)));
  const isWide = window.matchMedia("(min-width: 1200px)");
  const render = () => {
    side.hidden = !isWide.matches;
    if (isWide.matches) preview.render(device);
  };
  const buttons = side.querySelectorAll("button");
  for (const button of buttons) {
    button.addEventListener("click", () => {
      device.className = `device device-${button.dataset.device}`;
      for (const one of buttons) one.setAttribute("aria-pressed", String(one === button));
    });
  }
  for (const name of ["input", "change"]) form.addEventListener(name, render);
  isWide.addEventListener("change", render);
  render();
}

const form = find(document, "#settings_form", HTMLFormElement);
const side = find(document, ".settings-preview", HTMLElement);
const device = find(document, ".settings-preview .device", HTMLElement);
if (form) protectChanges(form);
if (form && side && device) setUpPreview(form, side, device);
