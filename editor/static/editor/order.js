// @ts-check
// Lets editors drag rows by their handles. The positions in the inputs are updated, and saved with the form.

/** @param {HTMLElement} body */
function setUp(body) {
  /** @type {HTMLElement | null} */
  let dragged = null;

  const renumber = () => {
    for (const [index, box] of [...body.querySelectorAll("input[type=number]")].entries()) {
      /** @type {HTMLInputElement} */ (box).value = String(index + 1);
    }
  };
  for (const grip of /** @type {NodeListOf<HTMLElement>} */ (body.querySelectorAll(".grip"))) {
    const row = grip.closest("tr");
    if (!row) continue;
    grip.hidden = false;
    grip.draggable = true;
    grip.addEventListener("dragstart", ({ dataTransfer }) => {
      dragged = row;
      row.classList.add("is-dragged");
      if (!dataTransfer) return;
      dataTransfer.effectAllowed = "move";
      dataTransfer.setData("text/plain", "");
      dataTransfer.setDragImage(row, 0, 0);
    });
    grip.addEventListener("dragend", () => {
      row.classList.remove("is-dragged");
      dragged = null;
      renumber();
    });
  }
  body.addEventListener("dragover", (event) => {
    const row = /** @type {HTMLElement} */ (event.target).closest("tr");
    if (!dragged || !row) return;
    event.preventDefault();
    const { top, height } = row.getBoundingClientRect();
    const isBelow = event.clientY > top + height / 2;
    if (row !== dragged) row[isBelow ? "after" : "before"](dragged);
  });
  body.addEventListener("drop", (event) => event.preventDefault());
}

for (const body of document.querySelectorAll("[data-order]")) setUp(/** @type {HTMLElement} */ (body));
