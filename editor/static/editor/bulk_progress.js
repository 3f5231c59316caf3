// Bulk actions: sends the chosen rows in small batches, with a progress bar and a button to stop. The last batch is sent as an
// ordinary form with the outcome of the others, so that the next page reports all batches. Without this script, one request does all.
(() => {
  "use strict";
  const SIZE = 5;

  const keep = (form, fields) => {
    const field = form.elements.so_far || document.createElement("input");
    if (!fields.has("so_far")) return;
    Object.assign(field, { type: "hidden", name: "so_far", value: fields.get("so_far") });
    form.append(field);
  };

  const begin = (form, total) => {
    const box = document.createElement("div");
    const bar = document.createElement("progress");
    const text = document.createElement("span");
    const stop = document.createElement("button");
    box.className = "working";
    bar.max = total;
    bar.value = 0;
    bar.setAttribute("aria-label", form.dataset.working);
    text.setAttribute("role", "status");
    stop.type = "button";
    stop.className = "button";
    stop.textContent = form.dataset.stop;
    box.append(bar, text, stop);
    form.querySelector(".bulk, .submit-row").after(box);
    box.scrollIntoView({ block: "nearest" });
    const show = (done) => {
      bar.value = done;
      text.textContent = form.dataset.of.replace("{done}", done).replace("{total}", total);
    };
    show(0);
    return {
      stop,
      show,
      fail: () => {
        bar.remove();
        stop.remove();
        text.textContent = form.dataset.broke;
      },
    };
  };

  const run = async (form, chosen) => {
    const name = (field) => `nonce-${field.value}`;
    const fields = new FormData(form);
    for (const key of [...fields.keys()]) if (key === "chosen" || key.startsWith("nonce-")) fields.delete(key);
    fields.set("more", "1");
    const view = begin(form, chosen.length);
    const buttons = [...form.querySelectorAll("[type=submit], .action-select, #choose-all")];
    const warn = (event) => event.preventDefault();
    let stopped = false;
    view.stop.addEventListener("click", () => {
      stopped = true;
      view.stop.disabled = true;
    });
    addEventListener("beforeunload", warn);
    for (const button of buttons) button.disabled = true;
    let done = 0;
    try {
      while (!stopped && chosen.length - done > SIZE) {
        const body = new FormData();
        for (const [key, value] of fields) body.append(key, value);
        for (const field of chosen.slice(done, done + SIZE)) {
          body.append("chosen", field.value);
          body.append(name(field), form.elements[name(field)].value);
        }
        // form.action is the form's field "action".
        const answer = await fetch(location.href, {
          method: "POST",
          body,
          headers: { Accept: "application/json" },
          redirect: "manual",
        });
        // The form was invalid. The list shows the errors.
        if (answer.type === "opaqueredirect") {
          removeEventListener("beforeunload", warn);
          location.reload();
          return;
        }
        fields.set("so_far", (await answer.json()).so_far);
        done = Math.min(done + SIZE, chosen.length);
        view.show(done);
      }
    } catch {
      view.fail();
      removeEventListener("beforeunload", warn);
      for (const button of buttons) button.disabled = false;
      for (const field of chosen.slice(0, done)) Object.assign(field, { checked: false, disabled: true });
      keep(form, fields);
      return;
    }
    const rest = stopped ? [] : chosen.slice(done);
    for (const button of buttons) button.disabled = false;
    for (const field of chosen) field.disabled = !rest.includes(field);
    keep(form, fields);
    removeEventListener("beforeunload", warn);
    form.submit();
  };

  for (const form of document.querySelectorAll("form[data-bulk-progress]")) {
    form.addEventListener("submit", (event) => {
      const fields = [...form.querySelectorAll("[name=chosen]")];
      const chosen = fields.filter((field) => !field.disabled && (field.type === "hidden" || field.checked));
      const asks = form.dataset.asks.split(" ").includes(form.elements.action.value) && !form.elements.confirmed;
      if (chosen.length <= SIZE || asks || form.querySelector(".working progress")) return;
      event.preventDefault();
      form.querySelector(".working")?.remove();
      run(form, chosen);
    });
  }
})();
