// The bar of a node's edit form: the saved state, the primary button's label and shortcut, and the menu. All buttons work without it.
(() => {
  "use strict";
  const form = document.getElementById("node_form");
  const bar = form?.querySelector(".edit-form-bar");
  if (!bar) return;
  const field = (name) => form.elements.namedItem(name);
  const save = bar.querySelector("[data-save]");
  const primary = bar.querySelector("[data-primary]");
  const saved = document.getElementById("saved-state");
  const menu = bar.querySelector(".edit-form-menu");

  // Whether the form differs from the stored node. A form that was shown again differs from the beginning.
  let changed = "unstored" in form.dataset;
  const change = (event) => {
    if (event.target.name === undefined || changed) return;
    changed = true;
    saved.textContent = saved.dataset.unsaved;
  };
  form.addEventListener("input", change);
  form.addEventListener("change", change);

  // A time in the future schedules the page. The body contains the site's UTC offset. Chinese dates have slashes.
  const label = primary?.dataset.label;
  const ahead = () => {
    const [day, time] = [
      (field("published_0")?.value || "").replaceAll("/", "-"),
      field("published_1")?.value || "00:00",
    ];
    if (!primary?.dataset.schedule || !/^\d{4}-\d{2}-\d{2}$/.test(day)) return null;
    const at =
      Date.parse(`${day}T${time.length === 5 ? `${time}:00` : time}Z`) -
      Number(document.body.dataset.adminUtcOffset) * 1000;
    return at > Date.now() ? `${day} ${time.slice(0, 5)}` : null;
  };
  const relabel = () => {
    if (primary) primary.textContent = ahead() ? primary.dataset.schedule : label;
  };
  for (const name of ["published_0", "published_1"]) {
    for (const kind of ["input", "change"]) field(name)?.addEventListener(kind, relabel);
  }
  // The admin's calendar changes the inputs without an event.
  bar.addEventListener("pointerenter", relabel);
  bar.addEventListener("focusin", relabel);
  relabel();

  const dialog = document.getElementById("ask-primary");
  const ask = () => {
    const when = ahead();
    const said = when ? primary.dataset.asksSchedule.replace("%(when)s", when) : primary.dataset.asks;
    dialog.querySelector("h2").textContent = `${primary.textContent.replace("…", "")}?`;
    dialog.querySelector(".help").textContent = said;
    dialog.querySelector("[value=yes]").textContent = primary.textContent.replace("…", "");
    dialog.returnValue = "";
    dialog.showModal();
  };
  let confirmed = false;
  dialog.addEventListener("close", () => {
    if (dialog.returnValue !== "yes") return;
    confirmed = true;
    form.requestSubmit(primary);
    confirmed = false;
  });
  primary?.addEventListener("click", (event) => {
    relabel();
    if (confirmed || !ahead() || dialog.open) return;
    event.preventDefault();
    ask();
  });

  // Ctrl-Enter presses the primary button. A dialog asks first if readers will see the result.
  document.addEventListener(
    "keydown",
    (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || document.querySelector("dialog[open]"))
        return;
      if (event.key !== "Enter" || !primary) return;
      event.preventDefault();
      event.stopPropagation();
      relabel();
      if (primary.dataset.asks) ask();
      else form.requestSubmit(primary);
    },
    true,
  );

  // A preview saves unsaved text as a draft first.
  bar.querySelector("a[data-preview]")?.addEventListener("click", (event) => {
    if (!changed || !save || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const button = Object.assign(document.createElement("button"), { name: "_preview", value: "1", hidden: true });
    form.append(button);
    form.requestSubmit(button);
  });

  menu?.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  document.addEventListener("click", (event) => {
    if (menu?.open && !menu.contains(event.target)) menu.open = false;
  });
  menu?.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !menu.contains(event.relatedTarget)) menu.open = false;
  });

  // On a phone, the groups of settings are folded, except those with errors.
  if (window.matchMedia("(max-width: 860px)").matches) {
    for (const group of form.querySelectorAll(".edit-form-group:not([data-wrong])")) group.open = false;
  }
})();
