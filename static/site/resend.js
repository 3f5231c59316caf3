// @ts-check
// Sends a refused form again after the number of seconds in its attribute data-retry-after, unless the reader changes it.
// The pauses differ, so that people who were refused together don't come back together.
const form = /** @type {HTMLFormElement} */ (document.querySelector("[data-retry-after]"));
const seconds = Number(form.dataset.retryAfter) * (1 + Math.random());
const timer = setTimeout(() => form.submit(), 1_000 * seconds);
for (const event of ["input", "submit"]) form.addEventListener(event, () => clearTimeout(timer));
