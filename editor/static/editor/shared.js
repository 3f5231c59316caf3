// The picture of a page, which is chosen from the library, uploaded or dropped, and the preview of search results and shared
// links, which follows the typed text. Without this script, editors type the picture's address, and the preview doesn't change.
(() => {
  "use strict";
  const form = document.getElementById("node_form");
  const field = (name) => form?.elements.namedItem(name);
  const picture = field("picture");
  const row = picture?.closest(".form-row");
  const acts = row?.querySelector(".picture-acts");
  const [picker, upload] = ["photo-picker", "picture-dialog"].map((id) => document.getElementById(id));

  const take = (photo) => {
    picture.value = `photo:${photo.id}`;
    picture.dispatchEvent(new CustomEvent("choose", { detail: photo }));
    picture.dispatchEvent(new Event("change", { bubbles: true }));
  };
  const ask = (files) => {
    const file = [...(files || [])].find((one) => one.type.startsWith("image/"));
    if (file) field("text").dispatchEvent(new CustomEvent("ask-picture", { detail: { files: [file], take } }));
  };
  if (acts && picker && upload) {
    const input = acts.querySelector("input");
    acts.hidden = false;
    acts
      .querySelector("[data-pick]")
      .addEventListener("click", () => picker.dispatchEvent(new CustomEvent("pick", { detail: take })));
    input.addEventListener("change", (event) => {
      event.stopPropagation();
      ask(input.files);
      input.value = "";
    });
    row.addEventListener("dragover", (event) => {
      if (![...(event.dataTransfer?.types || [])].includes("Files")) return;
      event.preventDefault();
      row.classList.add("over");
    });
    for (const name of ["dragleave", "drop"]) row.addEventListener(name, () => row.classList.remove("over"));
    row.addEventListener("drop", (event) => {
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      ask(event.dataTransfer.files);
    });
  }

  const shared = form?.querySelector(".shared");
  if (!shared) return;
  const cut = (words, most) => ([...words].length > most ? `${[...words].slice(0, most - 1).join("")}…` : words);
  const said = (...names) => names.map((name) => field(name)?.value.trim()).find(Boolean) || "";
  const counters = [
    ["seo_title", 60],
    ["seo_description", 160],
  ]
    .filter(([name]) => field(name))
    .map(([name, about]) => {
      const counter = document.createElement("span");
      counter.className = "counter";
      field(name).closest(".form-row").querySelector("label").append(" ", counter);
      return () => {
        counter.textContent = `${[...field(name).value].length} / ${about}`;
      };
    });
  const card = shared.querySelector(".shared-card");
  const image = card.querySelector("img") || Object.assign(new Image(80, 80), { alt: "" });
  const show = () => {
    const words = {
      title: cut(said("seo_title", "title"), 60),
      description: cut(said("seo_description", "summary") || shared.dataset.excerpt, 160),
    };
    for (const [name, text] of Object.entries(words))
      for (const place of shared.querySelectorAll(`[data-${name}]`)) place.textContent = text;
    for (const count of counters) count();
    const source =
      (picture?.value && row.querySelector(".chosen:not([hidden]) img")?.getAttribute("src")) ||
      shared.dataset.thumbnail;
    if (!source) image.remove();
    else if (source !== image.getAttribute("src") || !image.isConnected) {
      image.src = source;
      card.prepend(image);
    }
  };
  for (const kind of ["input", "change"]) form.addEventListener(kind, () => setTimeout(show));
  show();
})();
