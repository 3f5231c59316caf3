// @ts-check
// Applies the color scheme that the reader chose. The storage key is the same as in Django's admin. This is a classic
// script that blocks the parser, because it must run before the first paint. Modules and deferred scripts run after the
// first paint.
(() => {
  let chosen;
  try {
    chosen = localStorage.getItem("theme");
  } catch {
    // If storage is forbidden, the device's preference applies.
  }
  document.documentElement.dataset.theme = chosen === "light" || chosen === "dark" ? chosen : "auto";
})();
