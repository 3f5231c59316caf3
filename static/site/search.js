// @ts-check
// Suggests titles and tags in the search field, using the browser's own autocomplete list.

// How long the reader must stop typing before suggestions are requested, in milliseconds.
const WAIT = 150;

async function suggest(input) {
  const typed = input.value;
  const list = /** @type {HTMLDataListElement} */ (input.list);
  await new Promise((done) => setTimeout(done, WAIT));
  if (input.value !== typed || [...list.options].some(({ value }) => value === typed)) return;
  const query = new URLSearchParams({ q: typed });
  const answer = await fetch(`${input.dataset.suggestions}?${query}`).catch(() => null);
  const suggestions = answer?.ok && input.value === typed ? (await answer.json()).suggestions : [];
  list.replaceChildren(...suggestions.map((/** @type {string} */ text) => new Option(text)));
}

for (const input of document.querySelectorAll("input[data-suggestions]")) {
  input.addEventListener("input", () => suggest(/** @type {HTMLInputElement} */ (input)));
}
