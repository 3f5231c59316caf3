// @ts-check
// Keyboard shortcuts for the moderation queue. Each key activates a button or checkbox that is also on the page.
// A classic script in one file, for the same reasons as comments.js.
(() => {
  const cases = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("#queue .comments-case")]);

  /** Return the focused comment. Shortcuts apply to it. */
  const focused = () => /** @type {HTMLElement | null} */ (document.activeElement?.closest(".comments-case") ?? null);

  const go = (step) => {
    const at = cases.indexOf(/** @type {HTMLElement} */ (focused()));
    cases[at < 0 ? 0 : Math.min(cases.length - 1, Math.max(0, at + step))]?.focus();
  };

  const press = (place, selector) => /** @type {HTMLElement | null} */ (place?.querySelector(selector))?.click();

  document.addEventListener("keydown", (event) => {
    const target = /** @type {Element} */ (event.target);
    if (event.metaKey || event.ctrlKey || event.altKey || event.repeat) return;
    if (target.matches("input:not([type=checkbox]), textarea, select")) return;
    if (event.key === "j") go(1);
    else if (event.key === "k") go(-1);
    else if (event.key === "x") press(focused(), "input[type=checkbox]");
    else if (event.key === "u") press(document, "[data-key=u]");
    else if ("ars".includes(event.key)) press(focused(), `[data-key=${event.key}]`);
    else return;
    event.preventDefault();
  });

  document.querySelector("[data-all]")?.addEventListener("change", ({ target }) => {
    const boxes = /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("#queue [name=chosen]"));
    for (const box of boxes) box.checked = /** @type {HTMLInputElement} */ (target).checked;
  });
  // Show the progress of a decision that a worker continues.
  if (document.querySelector("[data-reload]")) setTimeout(() => location.reload(), 2000);

  // Focus the comment in the URL fragment, which is the next one to decide. It is missing if only skipped ones remain.
  const named = location.hash ? document.getElementById(location.hash.slice(1))?.closest(".comments-case") : cases[0];
  /** @type {HTMLElement | null | undefined} */ (named)?.focus({ preventScroll: !location.hash });
})();
