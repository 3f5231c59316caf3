// The form of a node: keeps the title on one line in a growing textarea, proposes a slug while the title is typed, fills in an
// offered slug, and ticks "Write it myself" when an editor writes.
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
  // Enter in the title moves to the text. Without a text, it saves.
  title?.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    (form.querySelector('label[for="id_text"]') || form.querySelector("[name=_save]"))?.click();
  });

  // Ctrl-S saves and stays on the page. If a button saves without changing what readers see, Ctrl-S presses that button.
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "s" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    const button = form.querySelector("[data-save]") || form.querySelector("[name=_continue]");
    if (!button) return;
    event.preventDefault();
    // The fields of an open dialog are not part of the form yet.
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
      // Without a response, the server makes the slug when the form is saved.
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
