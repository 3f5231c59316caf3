// Keyboard shortcuts for the moderation queue. Each key activates a button or checkbox that is also on the page.
(() => {
  "use strict";
  const cases = [...document.querySelectorAll("#queue .comments-case")];
  // A shortcut applies to the focused comment. If no comment has the focus, it does nothing.
  const here = () => document.activeElement?.closest(".comments-case");
  const go = (step) => cases[Math.min(cases.length - 1, Math.max(0, cases.indexOf(here()) + step))]?.focus();

  document.addEventListener("keydown", (event) => {
    if (event.metaKey || event.ctrlKey || event.altKey || event.repeat) return;
    if (event.target.matches("input:not([type=checkbox]), textarea, select")) return;
    if (event.key === "j" || event.key === "k") {
      if (cases.includes(here())) go(event.key === "j" ? 1 : -1);
      else cases[0]?.focus();
    } else if (event.key === "x") {
      here()?.querySelector("input[type=checkbox]")?.click();
    } else if (event.key === "u") {
      document.querySelector("[data-key=u]")?.click();
    } else if ("ars".includes(event.key)) {
      here()?.querySelector(`[data-key=${event.key}]`)?.click();
    } else return;
    event.preventDefault();
  });

  document.querySelector("[data-all]")?.addEventListener("change", (event) => {
    document.querySelectorAll("#queue [name=chosen]").forEach((box) => {
      box.checked = event.target.checked;
    });
  });
  // Focus the comment in the URL fragment, which is the next one to decide. It is missing if only skipped ones remain.
  const first = location.hash ? document.getElementById(location.hash.slice(1))?.closest(".comments-case") : cases[0];
  first?.focus({ preventScroll: !location.hash });
})();
