// @ts-check
// Shows who else is editing the page. While the tab is visible, the server is asked again every few seconds.
import { find, parseFragment } from "./dom.js";

// Milliseconds between a response and the next request.
const WAIT = 15_000;

/** @param {ParentNode} root */
const names = (root) => [...root.querySelectorAll("strong")].map(({ textContent }) => textContent).join("\n");

/** @param {HTMLElement} place */
function follow(place) {
  let timer = 0;

  /** @param {string} html */
  const show = (html) => {
    const before = names(place);
    const shown = document.createDocumentFragment();
    shown.append(...parseFragment(html));
    // Screen readers announce who is editing, but not each of their changes.
    place.setAttribute("aria-live", names(shown) === before ? "off" : "polite");
    place.replaceChildren(shown);
  };
  const ask = async () => {
    clearTimeout(timer);
    try {
      const answer = await fetch(place.dataset.presence ?? "", { redirect: "manual" });
      if (answer.ok) show(await answer.text());
      // If the login has expired, the server redirects to another page.
      else if (answer.status < 500) return;
    } catch {
      // There is no connection. Ask again later.
    }
    if (!document.hidden) timer = setTimeout(ask, WAIT);
  };
  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (!document.hidden) ask();
  });
  timer = setTimeout(ask, WAIT);
}

const place = find(document, "#presence", HTMLElement);
if (place) follow(place);
