// The pictures of galleries, large, over the page. Each is still a link to its photo's page: with a key held, by the middle
// button, by the title below the picture.
(() => {
  "use strict";

  const dialog = document.querySelector("dialog.lightbox");
  if (!dialog?.showModal) return;
  const links = [...document.querySelectorAll(".photo-rows a[data-large]")];
  const [title, count] = [".lightbox-title", ".lightbox-count"].map((part) => dialog.querySelector(part));
  const image = new Image();
  dialog.prepend(image);
  let at = 0;

  const show = (next) => {
    at = (next + links.length) % links.length;
    const link = links[at];
    // Never the last picture under the words of this one.
    image.removeAttribute("srcset");
    image.width = link.dataset.width;
    image.height = link.dataset.height;
    image.alt = link.querySelector("img").alt;
    image.sizes = "100vw";
    image.srcset = link.dataset.large;
    title.href = link.href;
    title.textContent = link.querySelector(".caption").textContent;
    count.textContent = `${at + 1} / ${links.length}`;
  };

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.(".photo-rows a[data-large]");
    if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    show(links.indexOf(link));
    dialog.showModal();
  });
  dialog.addEventListener("click", (event) => {
    const step = event.target.closest("[data-step]")?.dataset.step;
    if (step) show(at + Number(step));
    // Beside the picture, or the button that closes.
    else if (event.target === dialog || event.target.closest("[data-close]")) dialog.close();
  });
  dialog.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    show(at + (getComputedStyle(dialog).direction === "rtl" ? -step : step));
  });
  // Back to the picture that was looked at last, not the one that was clicked.
  dialog.addEventListener("close", () => links[at].focus());
})();
