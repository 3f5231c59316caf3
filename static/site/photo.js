// @ts-check
// Opens the previous or next photo when the reader presses an arrow key.
addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (/** @type {Element} */ (event.target).closest("input, textarea, select, [contenteditable]")) return;
  const side = event.key === "ArrowLeft" ? "prev" : event.key === "ArrowRight" ? "next" : "";
  const link = side && document.querySelector(`.neighbours a[rel=${side}]`);
  if (link) /** @type {HTMLElement} */ (link).click();
});
