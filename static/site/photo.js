// @ts-check
// Opens the previous or next photo when the reader presses an arrow key or swipes.

const isLeftToRight = getComputedStyle(document.body).direction === "ltr";

/** Go to the photo on the left or on the right, if there is one. */
const go = (/** @type {"left" | "right"} */ side) => {
  const rel = (side === "left") === isLeftToRight ? "prev" : "next";
  /** @type {HTMLElement | null} */ (document.querySelector(`.neighbours a[rel=${rel}]`))?.click();
};

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (/** @type {Element} */ (event.target).closest('input, textarea, select, [contenteditable], [tabindex="0"]'))
    return;
  if (event.key === "ArrowLeft") go("left");
  else if (event.key === "ArrowRight") go("right");
});

// The shortest swipe, in CSS pixels.
const SHORTEST = 60;
const photo = /** @type {HTMLElement | null} */ (document.querySelector(".photo-large"));
/** @type {Touch | undefined} */
let start;

photo?.addEventListener(
  "touchstart",
  ({ touches }) => {
    // Two fingers, or one finger in an enlarged page, move the page.
    start = touches.length === 1 && (visualViewport?.scale ?? 1) < 1.05 ? touches[0] : undefined;
  },
  { passive: true },
);

photo?.addEventListener("touchend", ({ changedTouches: [end] }) => {
  if (!start) return;
  const across = end.clientX - start.clientX;
  const down = end.clientY - start.clientY;
  start = undefined;
  if (Math.abs(across) >= SHORTEST && Math.abs(across) > 2 * Math.abs(down)) go(across > 0 ? "left" : "right");
});
