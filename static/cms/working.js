// @ts-check
// Shows progress: a bar while the response to a form takes long, and parts with "data-live", which are fetched again while they
// change. Without this script, users reload the page.

// Milliseconds until the bar is shown, and between two requests for the live parts.
const SOON = 500;
const AGAIN = 2000;
// A module has no document.currentScript.
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

/** Replace the live parts by those of the page as it is now. */
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
    // Asked again below.
  }
  followLater();
}

function followLater() {
  if (document.querySelector("[data-live]")) setTimeout(follow, AGAIN);
}

document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  // A script that sends the form in parts shows its own progress.
  if (event.defaultPrevented || box || form.method !== "post") return;
  if (!form.target || form.target === "_self") setTimeout(showBar, SOON);
});
addEventListener("pageshow", (event) => {
  if (event.persisted) box?.remove();
});
followLater();
