// The lists of nodes and photos: selects all rows of the page, and shows the number of selected rows.
(() => {
  "use strict";
  // On a phone, the filters are folded unless the list is filtered.
  const fold = document.querySelector(".list-fold");
  if (fold && !location.search && window.matchMedia("(max-width: 767px)").matches) fold.open = false;

  const form = document.getElementById("changelist-form");
  const all = document.getElementById("choose-all");
  const action = form?.querySelector("#bulk-action");
  if (!form || !all || !action) return;
  const boxes = [...form.querySelectorAll(".action-select")];
  const count = form.querySelector(".chosen-count");
  const show = () => {
    const chosen = boxes.filter((box) => box.checked).length;
    count.textContent = chosen ? `${chosen} ${count.dataset.label}` : "";
    all.checked = chosen > 0 && chosen === boxes.length;
    all.indeterminate = chosen > 0 && chosen < boxes.length;
    for (const box of boxes) box.closest("tr, li").classList.toggle("selected", box.checked);
  };
  const needed = () => {
    form.querySelector(".bulk-tags").hidden = !["tag", "untag"].includes(action.value);
    form.querySelector(".bulk-target").hidden = action.value !== "move";
  };
  for (const one of [all, all.closest("label")]) if (one) one.hidden = false;
  all.addEventListener("change", () => {
    for (const box of boxes) box.checked = all.checked;
    show();
  });
  form.addEventListener("change", (event) => {
    if (event.target.matches(".action-select")) show();
  });
  action.addEventListener("change", needed);
  show();
  needed();
})();
