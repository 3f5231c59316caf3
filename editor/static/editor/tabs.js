// @ts-check
// Tabs with the keys of the ARIA pattern: arrows, Home and End. Without this script, all sections are shown, and the
// tabs are links to them.
import { setAttributes } from "./dom.js";

/** @param {HTMLElement} list */
function setUp(list) {
  const tabs = [...list.querySelectorAll("a")];
  const panels = tabs.map((tab) => /** @type {HTMLElement} */ (document.getElementById(tab.hash.slice(1))));
  const form = list.closest("form");

  /** @param {number} chosen */
  const select = (chosen) => {
    for (const [index, tab] of tabs.entries()) {
      tab.setAttribute("aria-selected", String(index === chosen));
      tab.tabIndex = index === chosen ? 0 : -1;
      panels[index].hidden = index !== chosen;
    }
    // After a save, the browser keeps the fragment of the form's URL, and shows the same tab.
    if (form) form.action = form.action.replace(/(#.*)?$/, tabs[chosen].hash);
  };
  /** @param {string} hash The fragment of a tab's URL, or of the URL of an element in a tab. */
  const indexOf = (hash) => {
    const target = document.getElementById(hash.slice(1));
    return panels.findIndex((panel) => panel.contains(target));
  };
  /** @param {number} chosen */
  const show = (chosen) => {
    select(chosen);
    history.replaceState(null, "", tabs[chosen].hash);
  };

  list.setAttribute("role", "tablist");
  for (const [index, tab] of tabs.entries()) {
    setAttributes(tab, { role: "tab", "aria-controls": panels[index].id });
    panels[index].setAttribute("role", "tabpanel");
    tab.addEventListener("click", (event) => {
      event.preventDefault();
      show(index);
    });
  }
  list.addEventListener("keydown", (event) => {
    const at = tabs.indexOf(/** @type {HTMLAnchorElement} */ (event.target));
    const step = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: -1, " ": at }[event.key];
    if (step === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const next = (step + tabs.length) % tabs.length;
    show(next);
    tabs[next].focus();
  });
  window.addEventListener("hashchange", () => {
    const chosen = indexOf(location.hash);
    if (chosen >= 0) select(chosen);
  });
  const wrong = tabs.findIndex((tab) => tab.classList.contains("has-errors"));
  select(wrong >= 0 ? wrong : Math.max(0, indexOf(location.hash)));
}

for (const list of document.querySelectorAll("[data-tabs]")) setUp(/** @type {HTMLElement} */ (list));
