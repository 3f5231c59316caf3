// @ts-check
// Enlarges photos in galleries in a dialog over the page. Readers can still open a photo's own page: by clicking the
// photo with the middle button or a modifier key, or by clicking the title below the enlarged photo.

/** @typedef {HTMLAnchorElement} Link */

const PICTURE = ".photo-rows a[data-large]";

function setUp(dialog) {
  const links = /** @type {Link[]} */ ([...document.querySelectorAll(PICTURE)]);
  const title = /** @type {Link} */ (dialog.querySelector(".lightbox-title"));
  const count = /** @type {HTMLElement} */ (dialog.querySelector(".lightbox-count"));
  const image = new Image();
  let at = 0;
  dialog.prepend(image);

  const show = (next) => {
    at = (next + links.length) % links.length;
    const link = links[at];
    // Don't show the previous photo with this photo's title.
    image.removeAttribute("srcset");
    image.width = Number(link.dataset.width);
    image.height = Number(link.dataset.height);
    image.alt = link.querySelector("img")?.alt ?? "";
    image.sizes = "100vw";
    image.srcset = link.dataset.large ?? "";
    title.href = link.href;
    title.textContent = link.querySelector(".caption")?.textContent ?? "";
    count.textContent = `${at + 1} / ${links.length}`;
  };

  document.addEventListener("click", (event) => {
    const link = /** @type {Link | null} */ (/** @type {Element} */ (event.target).closest?.(PICTURE));
    if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    show(links.indexOf(link));
    dialog.showModal();
  });
  dialog.addEventListener("click", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    const step = target.closest("[data-step]")?.getAttribute("data-step");
    if (step) show(at + Number(step));
    // The reader clicked outside the photo or on the close button.
    else if (target === dialog || target.closest("[data-close]")) dialog.close();
  });
  dialog.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    show(at + (getComputedStyle(dialog).direction === "rtl" ? -step : step));
  });
  // Focus the photo that was shown last, not the photo that was clicked.
  dialog.addEventListener("close", () => links[at].focus());
}

const dialog = document.querySelector("dialog.lightbox");
if (dialog instanceof HTMLDialogElement) setUp(dialog);
