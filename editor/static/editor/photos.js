// Uploads in the admin: several files by drag and drop, with a progress bar and a result for each.
(() => {
  "use strict";
  const AT_ONCE = 2;

  for (const form of document.querySelectorAll("form[data-upload]")) {
    // If the page has a form that describes new photos, its rows replace the rows of the uploads.
    const describing = form.querySelector(".photo-results") ? null : document.getElementById("describe");
    const results = (describing || form).querySelector(".photo-results");
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

    // The same row as on the page that describes photos.
    const described = async (item, result) => {
      let row = null;
      try {
        const answer = await fetch(result.describe);
        row =
          answer.ok && new DOMParser().parseFromString(await answer.text(), "text/html").querySelector(".photo-row");
      } catch {
        // Without a response, the row links to the photo's own page.
      }
      // Photos beyond the maximum of the form are described on their own pages.
      if (!row || describing.querySelectorAll(".photo-row").length >= Number(form.dataset.most)) return false;
      for (const text of [form.dataset.done, result.note]) {
        if (!text) continue;
        const note = document.createElement("small");
        note.textContent = text;
        row.querySelector(".photo-row-head").append(" ", note);
      }
      item.replaceWith(row);
      describing.querySelector(".submit-row").hidden = false;
      row.dispatchEvent(new Event("photo-row", { bubbles: true }));
      return true;
    };

    const tell = async (item, result) => {
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
      if (describing && (await described(item, result))) return;
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
          // The response is not the site's JSON, so it is reported as a failure.
        }
        tell(item, found[0] || { ok: false, name: file.name, reason: form.dataset.failed }).then(() => {
          running -= 1;
          next();
        });
      });
      request.send(body);
    };

    const next = () => {
      while (running < AT_ONCE && queue.length) send(queue.shift());
      // Leaving the page would abort running uploads.
      for (const button of describing?.querySelectorAll(".submit-row [type=submit]") || [])
        button.disabled = running > 0;
      if (!running && anyDone && "reload" in form.dataset) reload();
    };
    window.addEventListener("beforeunload", (event) => {
      if (running) event.preventDefault();
    });

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

  // Reloads the page with the unsaved values of its form.
  const page = document.getElementById("node_form");
  const filledIn = () => page && new URLSearchParams(new FormData(page)).toString();
  const begun = filledIn();
  const reload = () => {
    if (filledIn() === begun) return window.location.reload();
    page.append(Object.assign(document.createElement("input"), { type: "hidden", name: "_kept", value: "1" }));
    return page.submit();
  };
  for (const form of document.querySelectorAll(".photo-former form")) {
    form.addEventListener("submit", async (event) => {
      if (filledIn() === begun) return;
      event.preventDefault();
      await fetch(form.action, { method: "POST", body: new FormData(form), redirect: "manual" });
      reload();
    });
  }

  const describe = document.getElementById("describe");
  if (describe) {
    let typed = false;
    const lacking = describe.querySelector(".photo-lacking");
    const count = () => {
      const rows = [...describe.querySelectorAll(".photo-row")].filter(
        (row) => !row.querySelector("textarea").value.trim(),
      );
      const names = rows.map(
        (row) => row.querySelector('[name$="title"]').value || row.querySelector(".photo-row-head a").textContent,
      );
      lacking.textContent = names.length ? `${describe.dataset.lacking} ${names.join(", ")}` : "";
    };
    describe.addEventListener("input", () => {
      typed = true;
      count();
    });
    describe.addEventListener("photo-row", count);
    describe.addEventListener("submit", () => {
      typed = false;
    });
    window.addEventListener("beforeunload", (event) => {
      if (typed) event.preventDefault();
    });
    count();
  }
})();
