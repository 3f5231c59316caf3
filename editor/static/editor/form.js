// The form over a node: keeps the title one line, in a box as high as it needs; proposes a slug while the title is typed, takes a proposed one, ticks "Write it myself" when writing.
(() => {
  "use strict";
  const form = document.getElementById("node_form");
  if (!form) return;
  const field = (name) => form.elements.namedItem(name);

  for (const button of form.querySelectorAll(".use-slug")) {
    button.addEventListener("click", () => {
      field("slug").value = button.dataset.slug;
      field("slug").dispatchEvent(new Event("input", { bubbles: true }));
      field("slug").focus();
    });
  }

  for (const clash of form.querySelectorAll(".clash")) {
    clash.querySelector(".box").addEventListener("input", () => {
      clash.querySelector("input[type=radio][value=edit]").checked = true;
    });
  }

  const title = field("title");
  const fit = () => {
    if (/[\r\n]/.test(title.value)) title.value = title.value.replace(/\s*[\r\n]+\s*/g, " ");
    if (CSS.supports("field-sizing", "content")) return;
    title.style.height = "auto";
    title.style.height = `${title.scrollHeight}px`;
  };
  title?.addEventListener("input", fit);
  if (title?.scrollHeight) fit();
  // Enter in the title goes on to the text; where there is none, it saves.
  title?.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    (form.querySelector('label[for="id_text"]') || form.querySelector("[name=_save]"))?.click();
  });

  // Ctrl-S saves and stays; it never changes what readers see where there is a button that does not.
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "s" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    const button = form.querySelector("[data-save]") || form.querySelector("[name=_continue]");
    if (!button) return;
    event.preventDefault();
    // What an open dialog holds is not part of the form yet.
    if (!document.querySelector("dialog[open]")) form.requestSubmit(button);
  });

  const propose = form.dataset.propose;
  if (!propose || !field("slug") || field("slug").value !== field("_proposed").value) return;
  let ours = true;
  let asked = 0;
  let timer;
  const ask = async () => {
    const number = ++asked;
    const query = new URLSearchParams({ title: field("title").value, section: field("section").value });
    try {
      const answer = await fetch(`${propose}?${query}`, { headers: { Accept: "application/json" } });
      if (!answer.ok || number !== asked || !ours) return;
      const { slug } = await answer.json();
      field("slug").value = field("_proposed").value = slug;
    } catch {
      // Without an answer the server makes the slug when the form is saved.
    }
  };
  field("slug").addEventListener("input", (event) => {
    if (event.isTrusted) ours = field("slug").value === "";
  });
  for (const name of ["title", "section"]) {
    field(name).addEventListener("input", () => {
      if (!ours) return;
      clearTimeout(timer);
      timer = setTimeout(ask, 250);
    });
  }
})();
