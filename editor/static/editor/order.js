// Rows can be dragged by their grips. The places in the inputs follow, and the form saves them.
document.querySelectorAll("[data-order]").forEach((body) => {
  let dragged = null;
  body.querySelectorAll(".grip").forEach((grip) => {
    grip.hidden = false;
    grip.draggable = true;
    const row = grip.closest("tr");
    grip.addEventListener("dragstart", (event) => {
      dragged = row;
      row.classList.add("is-dragged");
      event.dataTransfer.effectAllowed = "move";
      event.dataTransfer.setData("text/plain", "");
      event.dataTransfer.setDragImage(row, 0, 0);
    });
    grip.addEventListener("dragend", () => {
      row.classList.remove("is-dragged");
      dragged = null;
      body.querySelectorAll("input[type=number]").forEach((box, index) => {
        box.value = index + 1;
      });
    });
  });
  body.addEventListener("dragover", (event) => {
    const row = event.target.closest("tr");
    if (!dragged || !row) return;
    event.preventDefault();
    const { top, height } = row.getBoundingClientRect();
    const isBelow = event.clientY > top + height / 2;
    if (row !== dragged) row[isBelow ? "after" : "before"](dragged);
  });
  body.addEventListener("drop", (event) => event.preventDefault());
});
