// A dialog that chooses a photo of the library, and searches while the editor types.
(() => {
  "use strict";
  const text = document.querySelector("#node_form textarea[name=text]");
  const dialog = document.getElementById("photo-picker");
  if (!text || !dialog) return;
  const search = dialog.querySelector("input[type=search]");
  const list = dialog.querySelector(".picker-photos");
  const told = dialog.querySelector(".picker-told");
  const upload = dialog.querySelector("input[type=file]");
  let asked = 0;
  let timer = 0;
  let taker = null;

  const choice = (photo) => {
    const item = document.createElement("li");
    const button = document.createElement("button");
    const image = document.createElement("img");
    const title = document.createElement("span");
    button.type = "button";
    image.src = photo.thumbnail;
    image.alt = "";
    image.width = image.height = 160;
    image.loading = "lazy";
    title.textContent = photo.title;
    button.append(image, title);
    if (!photo.public) {
      const note = document.createElement("small");
      note.textContent = dialog.dataset.unpublished;
      button.append(note);
    }
    button.addEventListener("click", () => {
      dialog.close();
      if (taker) taker(photo);
      else text.dispatchEvent(new CustomEvent("put-picture", { detail: photo.markdown }));
    });
    item.append(button);
    return item;
  };

  const show = async () => {
    const number = ++asked;
    try {
      const answer = await fetch(`${dialog.dataset.source}?${new URLSearchParams({ q: search.value })}`, {
        headers: { Accept: "application/json" },
      });
      if (!answer.ok) throw new Error(answer.status);
      const { photos } = await answer.json();
      if (number !== asked) return;
      list.replaceChildren(...photos.map(choice));
      told.textContent = photos.length ? "" : search.value.trim() ? dialog.dataset.none : dialog.dataset.empty;
    } catch {
      if (number === asked) told.textContent = dialog.dataset.failed;
    }
  };

  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(show, 250);
  });
  // Enter in the search field must not press a button of the dialog.
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    clearTimeout(timer);
    show();
  });
  dialog.addEventListener("pick", (event) => {
    // A function that receives the photo. Without one, the photo is inserted into the text, and can be a new upload.
    taker = event.detail;
    if (upload) upload.parentElement.hidden = Boolean(taker);
    search.value = "";
    list.replaceChildren();
    told.textContent = "";
    dialog.showModal();
    search.focus();
    show();
  });
  upload?.addEventListener("change", () => {
    const files = [...upload.files];
    if (!files.length) return;
    dialog.close();
    text.dispatchEvent(new CustomEvent("ask-picture", { detail: files }));
    upload.value = "";
  });
})();
