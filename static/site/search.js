// What is typed to search for is completed: titles and tags, in the list that browsers have for it.
for (const input of document.querySelectorAll("input[data-suggestions]")) {
  input.addEventListener("input", async () => {
    const typed = input.value;
    await new Promise((done) => setTimeout(done, 150));
    if (input.value !== typed || [...input.list.options].some(({ value }) => value === typed)) return;
    const found = await fetch(`${input.dataset.suggestions}?${new URLSearchParams({ q: typed })}`).catch(() => null);
    const suggestions = found?.ok && input.value === typed ? (await found.json()).suggestions : [];
    input.list.replaceChildren(...suggestions.map((text) => new Option(text)));
  });
}
