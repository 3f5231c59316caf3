// A picture dropped or pasted into a text: asks what it shows, uploads it into a gallery, and writes it where the cursor was.
(() => {
  "use strict";
  const text = document.querySelector("#node_form textarea[name=text]");
  const dialog = document.getElementById("picture-dialog");
  if (!text || !dialog) return;
  const form = dialog.querySelector("form");
  const problem = dialog.querySelector(".picture-problem");
  const bar = dialog.querySelector("progress");
  const token = document.querySelector("#node_form [name=csrfmiddlewaretoken]").value;
  let file = null;

  const pictures = (transfer) => [...(transfer?.files || [])].filter((one) => one.type.startsWith("image/"));

  const ask = (picture) => {
    file = picture;
    problem.hidden = true;
    form.elements.alt.value = "";
    const image = document.createElement("img");
    image.alt = "";
    const reader = new FileReader();
    reader.addEventListener("load", () => {
      image.src = reader.result;
    });
    reader.readAsDataURL(picture);
    dialog.querySelector(".picture-preview").replaceChildren(image);
    dialog.showModal();
    form.elements.alt.focus();
  };

  const refuse = (reason) => {
    problem.textContent = reason;
    problem.hidden = false;
    bar.hidden = true;
  };

  const insert = (markdown) => {
    // The editor, where there is one, puts it where its cursor is.
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

  form.addEventListener("submit", (event) => {
    if (event.submitter && event.submitter.value === "cancel") return;
    event.preventDefault();
    const body = new FormData();
    body.append("csrfmiddlewaretoken", token);
    body.append("alt", form.elements.alt.value);
    if (form.elements.publish?.checked) body.append("publish", "1");
    body.append("files", file, file.name || "picture.png");
    const request = new XMLHttpRequest();
    request.open("POST", dialog.dataset.action.replace("0".repeat(24), form.elements.gallery.value));
    request.setRequestHeader("Accept", "application/json");
    bar.hidden = false;
    request.upload.addEventListener("progress", (progress) => {
      bar.value = progress.loaded / progress.total;
    });
    request.addEventListener("loadend", () => {
      let result = null;
      try {
        [result] = JSON.parse(request.responseText).results;
      } catch {
        // Not an answer of ours: told as a failure.
      }
      if (!result || !result.ok) return refuse(result ? result.reason : dialog.dataset.failed);
      bar.hidden = true;
      dialog.close();
      insert(result.markdown);
    });
    request.send(body);
  });

  text.addEventListener("put-picture", (event) => insert(event.detail));
  text.addEventListener("ask-picture", (event) => ask(event.detail));

  // The editor stands beside the textarea, in its place: listened to before it hears of it.
  const place = text.parentElement;
  const listen = (name, work) => place.addEventListener(name, work, true);
  const taken = (event, picture) => {
    event.preventDefault();
    event.stopPropagation();
    ask(picture);
  };
  listen("paste", (event) => {
    const [picture] = pictures(event.clipboardData);
    if (picture) taken(event, picture);
  });
  listen("dragover", (event) => {
    if (![...(event.dataTransfer?.types || [])].includes("Files")) return;
    event.preventDefault();
    event.stopPropagation();
    place.classList.add("over");
  });
  for (const name of ["dragleave", "drop"]) listen(name, () => place.classList.remove("over"));
  listen("drop", (event) => {
    const [picture] = pictures(event.dataTransfer);
    if (picture) taken(event, picture);
  });
})();
