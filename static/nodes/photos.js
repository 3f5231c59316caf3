// Uploads in the admin: several files by drag and drop, a bar and a result for each; the focal point by click.
(() => {
  "use strict";
  const AT_ONCE = 2;

  for (const form of document.querySelectorAll("form[data-upload]")) {
    const results = form.querySelector(".photo-results");
    const input = form.querySelector("input[type=file]");
    const gallery = form.querySelector("[data-gallery]");
    const queue = [];
    let running = 0;
    let anyDone = false;
    form.querySelector("[data-plain]").hidden = true;

    const row = (file) => {
      const item = document.createElement("li");
      item.append(document.createElement("span"), document.createElement("span"), document.createElement("span"));
      const bar = document.createElement("progress");
      bar.max = 1;
      bar.value = 0;
      bar.setAttribute("aria-label", file.name);
      item.children[1].textContent = file.name;
      item.children[2].append(bar, document.createTextNode(form.dataset.waiting));
      results.append(item);
      return item;
    };

    const tell = (item, result) => {
      const [picture, text, state] = item.children;
      state.textContent = result.ok ? form.dataset.done : "";
      if (!result.ok) {
        const reason = document.createElement("span");
        reason.className = "refused";
        reason.textContent = result.reason;
        text.replaceChildren(`${result.name}: `, reason);
        item.classList.add("failed");
        return;
      }
      anyDone = true;
      const image = document.createElement("img");
      image.src = result.thumbnail;
      image.alt = "";
      picture.append(image);
      const link = document.createElement("a");
      link.href = result.url;
      link.textContent = result.title;
      text.replaceChildren(link);
      if (result.note) {
        const note = document.createElement("small");
        note.className = "noted";
        note.textContent = ` ${result.note}`;
        text.append(note);
      }
      item.classList.add("done");
    };

    const send = ({ file, item, action }) => {
      running += 1;
      const request = new XMLHttpRequest();
      const bar = item.querySelector("progress");
      const body = new FormData();
      body.append("csrfmiddlewaretoken", form.elements.csrfmiddlewaretoken.value);
      body.append("files", file, file.name);
      request.open("POST", action);
      request.setRequestHeader("Accept", "application/json");
      request.upload.addEventListener("progress", (event) => {
        bar.value = event.loaded / event.total;
        bar.nextSibling.textContent = event.loaded === event.total ? form.dataset.checking : "";
      });
      request.addEventListener("loadend", () => {
        let found = [];
        try {
          found = JSON.parse(request.responseText).results;
        } catch {
          // Not an answer of ours: told as a failure.
        }
        tell(item, found[0] || { ok: false, name: file.name, reason: form.dataset.failed });
        running -= 1;
        next();
      });
      request.send(body);
    };

    const next = () => {
      while (running < AT_ONCE && queue.length) send(queue.shift());
      if (!running && !queue.length && anyDone && "reload" in form.dataset) window.location.reload();
    };

    const add = (files) => {
      const action = gallery ? form.dataset.action.replace("0".repeat(24), gallery.value) : form.action;
      for (const file of files) queue.push({ file, action, item: row(file) });
      next();
    };

    input.addEventListener("change", () => {
      add(input.files);
      input.value = "";
    });
    if (gallery) {
      gallery.addEventListener("change", () => {
        form.action = form.dataset.action.replace("0".repeat(24), gallery.value);
      });
    }
    for (const name of ["dragenter", "dragover"]) {
      form.addEventListener(name, (event) => {
        event.preventDefault();
        form.classList.add("over");
      });
    }
    for (const name of ["dragleave", "drop"]) {
      form.addEventListener(name, (event) => {
        event.preventDefault();
        form.classList.remove("over");
      });
    }
    form.addEventListener("drop", (event) => add(event.dataTransfer.files));
  }

  const preview = document.querySelector(".photo-preview[data-focal]");
  const field = document.querySelector("#node_form [name=focal]");
  if (preview && field) {
    const image = preview.querySelector("img");
    const mark = document.createElement("span");
    mark.className = "focal-mark";
    preview.append(mark);
    const show = () => {
      const [across, down] = field.value.trim().split(/[\s,]+/).map(Number);
      mark.hidden = !field.value.trim() || !(across >= 0 && across <= 1 && down >= 0 && down <= 1);
      mark.style.left = `${across * 100}%`;
      mark.style.top = `${down * 100}%`;
    };
    image.addEventListener("click", (event) => {
      const box = image.getBoundingClientRect();
      const part = (value) => Math.min(Math.max(value, 0), 1).toFixed(2);
      field.value = `${part((event.clientX - box.left) / box.width)} ${part((event.clientY - box.top) / box.height)}`;
      field.dispatchEvent(new Event("input", { bubbles: true }));
      show();
    });
    field.addEventListener("input", show);
    show();
  }
})();
