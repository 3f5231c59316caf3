// The editor's menu of inserts: a choice, a small form, and a directive at the cursor.
(() => {
  "use strict";
  const text = document.querySelector("#node_form textarea[name=text]");
  const dialog = document.getElementById("insert-dialog");
  if (!text || !dialog) return;
  const choices = dialog.querySelector(".insert-choices");
  const forms = [...dialog.querySelectorAll("form[data-insert]")];
  const picker = document.getElementById("photo-picker");

  const show = (shown) => {
    for (const form of [choices, ...forms]) form.hidden = form !== shown;
    const title = shown.querySelector("h2");
    dialog.setAttribute("aria-labelledby", title.id);
    shown.querySelector("input, select, textarea, button, h2").focus();
  };

  // Writes directives like marginalia/markup/directives.py.
  const quoted = (value) => (/^[^\s"'{}\\]+$/.test(value) ? value : `"${value.replace(/[\\"]/g, "\\$&")}"`);
  const isAsItBegins = (field) =>
    "said" in field.dataset
      ? false
      : field.type === "checkbox"
        ? field.checked === field.defaultChecked
        : field.options
          ? [...field.options].some((option) => option.selected && option.defaultSelected)
          : field.value === field.defaultValue;
  const spelled = (form) => {
    const pairs = [...form.elements]
      .filter((field) => field.name && !isAsItBegins(field))
      .map((field) => [
        field.name,
        (field.type === "checkbox" ? String(field.checked) : field.value).trim().split(/\s+/).join(" "),
      ])
      .filter(([, value]) => value)
      .map(([name, value]) => `${name}=${quoted(value)}`);
    return form.dataset.insert + (pairs.length ? `{${pairs.join(" ")}}` : "");
  };

  const take = (field, photo) => {
    const name = `photo:${photo.id}`;
    field.value = field.dataset.photo === "more" && field.value.trim() ? `${field.value.trim()},${name}` : name;
    field.dispatchEvent(new CustomEvent("choose", { detail: photo }));
    field.focus();
  };

  for (const form of forms) {
    form.addEventListener("submit", (event) => {
      if (event.submitter?.value !== "insert") return;
      const directive = spelled(form);
      const begin = `:::${directive}\n`;
      const around = (selected) => {
        const inner = selected.trim();
        // If the insert is empty, the cursor is placed inside it.
        return { block: `${begin}${inner}\n:::`, select: inner ? undefined : [begin.length, begin.length] };
      };
      const block = "container" in form.dataset ? around : `::${directive}`;
      // Wait until the dialog is closed, because closing it moves the focus back.
      dialog.addEventListener(
        "close",
        () => text.dispatchEvent(new CustomEvent("insert-block", { detail: block, cancelable: true })),
        { once: true },
      );
    });
    form.querySelector("[data-back]").addEventListener("click", () => show(choices));
    for (const field of form.querySelectorAll("[data-photo]")) {
      if (!picker) continue;
      field.after(dialog.querySelector("template").content.cloneNode(true));
      field.nextElementSibling.addEventListener("click", () => {
        picker.dispatchEvent(new CustomEvent("pick", { detail: (photo) => take(field, photo) }));
      });
    }
  }
  choices.addEventListener("click", (event) => {
    const choice = event.target.closest("[data-choice]");
    if (!choice) return;
    const form = forms.find((one) => one.dataset.insert === choice.dataset.choice);
    form.reset();
    show(form);
  });
  dialog.addEventListener("pick", () => {
    dialog.showModal();
    show(choices);
  });
})();
