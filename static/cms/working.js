// @ts-check
// Shows progress: a bar if the response to a form takes long, and parts with "data-live", which are refreshed until
// they are done. Without this script, users have to reload the page.

// The delay before the bar is shown, and the interval between refreshes, in milliseconds.
const SOON = 500;
const AGAIN = 2000;
// Modules have no document.currentScript.
const label = /** @type {HTMLScriptElement} */ (document.querySelector("script[data-working]")).dataset.working ?? "";
/** @type {HTMLElement | undefined} */
let box;

function showBar() {
  const bar = document.createElement("progress");
  bar.setAttribute("aria-label", label);
  box = document.createElement("div");
  box.className = "working-bar";
  box.setAttribute("role", "status");
  box.append(bar, label);
  document.body.append(box);
}

/** Fetch the page again, and replace its live parts with the new versions. */
async function follow() {
  try {
    const answer = await fetch(location.href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of document.querySelectorAll("[data-live]")) {
      const now = page.getElementById(part.id);
      if (now) part.replaceWith(now);
      else part.remove();
    }
  } catch {
    // The request is repeated below.
  }
  followLater();
}

function followLater() {
  if (document.querySelector("[data-live]")) setTimeout(follow, AGAIN);
}

document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  // If another script submits the form in parts, that script shows its own progress.
  if (event.defaultPrevented || box || form.method !== "post") return;
  if (!form.target || form.target === "_self") setTimeout(showBar, SOON);
});
addEventListener("pageshow", (event) => {
  if (event.persisted) box?.remove();
});
followLater();
