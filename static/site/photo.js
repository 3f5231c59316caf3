// The arrow keys lead to the photos beside the one that is shown.
addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
  const side = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
  const link = side && document.querySelector(`.neighbours a[rel=${side}]`);
  if (link) link.click();
});
