// @ts-check
// Shows progress: a bar while the response to a form takes a long time, and parts with "data-live", which are fetched
// again while they change. Without this script, users reload the page.

// Milliseconds until the bar is shown, and milliseconds between two requests for the live parts.
const SOON = 500;
const AGAIN = 2000;
// document.currentScript isn't available in modules.
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

/** Fetch the page again, and replace the live parts. */
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
    // Ignore the error, because another request follows.
  }
  followLater();
}

function followLater() {
  if (document.querySelector("[data-live]")) setTimeout(follow, AGAIN);
}

document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  // If a script sends the form in batches, it shows its own progress.
  if (event.defaultPrevented || box || form.method !== "post") return;
  if (!form.target || form.target === "_self") setTimeout(showBar, SOON);
});
addEventListener("pageshow", (event) => {
  if (event.persisted) box?.remove();
});
followLater();
