// Pictures dropped or pasted into a text: asks for alternative texts, uploads the pictures into a gallery, and inserts them.
(() => {
  "use strict";
  const text = document.querySelector("#node_form textarea[name=text]");
  const dialog = document.getElementById("picture-dialog");
  if (!text || !dialog) return;
  const AT_ONCE = 2;
  // Width in pixels of a picture in the dialog.
  const SMALL = 320;
  const form = dialog.querySelector("form");
  const list = dialog.querySelector(".photo-rows");
  const blank = dialog.querySelector("template");
  const insertButton = form.querySelector("[value=insert]");
  const token = document.querySelector("#node_form [name=csrfmiddlewaretoken]").value;
  // {file, item, markdown}. `markdown` is set after the upload.
  let rows = [];
  // A function that receives the photo. Without one, the pictures are inserted into the text.
  let taker = null;
  const inserting = insertButton.textContent;

  const pictures = (transfer) => [...(transfer?.files || [])].filter((one) => one.type.startsWith("image/"));

  const preview = async (file, image) => {
    try {
      const bitmap = await createImageBitmap(file, { resizeWidth: SMALL });
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [bitmap.width, bitmap.height];
      canvas.getContext("2d").drawImage(bitmap, 0, 0);
      image.src = canvas.toDataURL();
      bitmap.close();
    } catch {
      // The browser cannot show this format, but the server may support it.
    }
  };

  const ask = (files, take = null) => {
    taker = take;
    insertButton.textContent = take ? insertButton.dataset.take : inserting;
    rows = files.map((file) => ({ file, item: blank.content.firstElementChild.cloneNode(true), markdown: "" }));
    list.replaceChildren(...rows.map((row) => row.item));
    for (const row of rows) {
      const { file, item } = row;
      item.querySelector(".photo-row-name").textContent = file.name;
      item.querySelector("[name=title]").placeholder = file.name.replace(/\.[^.]*$/, "");
      item.querySelector("[data-remove]").addEventListener("click", () => {
        rows = rows.filter((one) => one !== row);
        item.remove();
        if (rows.length) list.querySelector("textarea").focus();
        else dialog.close();
      });
      item.dispatchEvent(new Event("photo-row", { bubbles: true }));
      preview(file, item.querySelector("img"));
    }
    dialog.showModal();
    list.querySelector("textarea").focus();
  };

  const tell = (item, reason) => {
    const problem = item.querySelector(".refused");
    problem.textContent = reason;
    problem.hidden = !reason;
  };

  const send = (row) =>
    new Promise((done) => {
      const { file, item } = row;
      const body = new FormData();
      body.append("csrfmiddlewaretoken", token);
      for (const field of item.querySelectorAll("[name]")) body.append(field.name, field.value);
      // A photo without alternative text stays unpublished, and the editor shows that readers do not see it.
      if (form.elements.publish?.checked && item.querySelector("[name=alt]").value.trim()) body.append("publish", "1");
      body.append("files", file, file.name || "picture.png");
      const bar = document.createElement("progress");
      bar.max = 1;
      bar.value = 0;
      bar.setAttribute("aria-label", file.name);
      item.querySelector(".photo-row-head").append(bar);
      tell(item, "");
      const request = new XMLHttpRequest();
      request.open("POST", dialog.dataset.action.replace("0".repeat(24), form.elements.gallery.value));
      request.setRequestHeader("Accept", "application/json");
      request.upload.addEventListener("progress", (progress) => {
        bar.value = progress.loaded / progress.total;
      });
      request.addEventListener("loadend", () => {
        let result = null;
        try {
          [result] = JSON.parse(request.responseText).results;
        } catch {
          // The response is not the site's JSON, so it is reported as a failure.
        }
        bar.remove();
        if (result?.ok) {
          row.markdown = result.markdown;
          row.photo = result;
          item.classList.add("done");
          for (const field of item.querySelectorAll("[name], [data-remove]")) field.disabled = true;
        } else tell(item, result ? result.reason : dialog.dataset.failed);
        done();
      });
      request.send(body);
    });

  const insert = (markdown) => {
    // If there is an editor, it inserts the text at its cursor.
    if (!text.dispatchEvent(new CustomEvent("insert-block", { detail: markdown, cancelable: true }))) return;
    const start = text.selectionStart;
    const before = text.value.slice(0, start);
    const after = text.value.slice(text.selectionEnd);
    const own = `${before && !before.endsWith("\n\n") ? (before.endsWith("\n") ? "\n" : "\n\n") : ""}${markdown}\n\n`;
    text.value = before + own + after.replace(/^\n+/, "");
    text.selectionStart = text.selectionEnd = start + own.length;
    text.dispatchEvent(new Event("input", { bubbles: true }));
    text.focus();
  };

  form.addEventListener("submit", async (event) => {
    if (event.submitter && event.submitter.value === "cancel") return;
    event.preventDefault();
    const asked = rows;
    const waiting = rows.filter((row) => !row.markdown);
    insertButton.disabled = true;
    const work = async () => {
      // Ignore pictures that were left out or cancelled meanwhile. The dialog may already be open with others.
      for (let row = waiting.shift(); row; row = waiting.shift())
        if (dialog.open && rows.includes(row)) await send(row);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    insertButton.disabled = false;
    // The dialog was cancelled meanwhile. The uploaded pictures are in the library.
    if (!dialog.open || !asked.includes(rows[0])) return;
    const failed = rows.find((row) => !row.markdown);
    if (failed) {
      failed.item.scrollIntoView({ block: "nearest" });
      return;
    }
    dialog.close();
    if (taker) taker(rows[0].photo);
    else insert(rows.map((row) => row.markdown).join("\n\n"));
  });

  text.addEventListener("put-picture", (event) => insert(event.detail));
  text.addEventListener("ask-picture", ({ detail }) => (detail.take ? ask(detail.files, detail.take) : ask(detail)));

  // The editor's element follows the textarea. This listener runs before those of the editor.
  const place = text.parentElement;
  const listen = (name, work) => place.addEventListener(name, work, true);
  const taken = (event, files) => {
    if (!files.length) return;
    event.preventDefault();
    event.stopPropagation();
    ask(files);
  };
  listen("paste", (event) => taken(event, pictures(event.clipboardData)));
  listen("dragover", (event) => {
    if (![...(event.dataTransfer?.types || [])].includes("Files")) return;
    event.preventDefault();
    event.stopPropagation();
    place.classList.add("over");
  });
  for (const name of ["dragleave", "drop"]) listen(name, () => place.classList.remove("over"));
  listen("drop", (event) => taken(event, pictures(event.dataTransfer)));
})();
