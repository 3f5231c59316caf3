// @ts-check
// Applies the theme that the reader chose. Django's admin uses the same key. This is a classic script, because it must
// run before the first paint. Modules and deferred scripts run later.
(() => {
  let chosen;
  try {
    chosen = localStorage.getItem("theme");
  } catch {
    // Without storage, use the device's preference.
  }
  document.documentElement.dataset.theme = chosen === "light" || chosen === "dark" ? chosen : "auto";
})();
