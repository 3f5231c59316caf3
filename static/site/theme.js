// @ts-check
// Sets the colors that the reader chose. The key is that of Django's admin. This is a classic script that blocks the parser, because
// it must run before the first paint. Modules and deferred scripts run after it.
(() => {
  let chosen;
  try {
    chosen = localStorage.getItem("theme");
  } catch {
    // Without storage, the preference of the device decides.
  }
  document.documentElement.dataset.theme = chosen === "light" || chosen === "dark" ? chosen : "auto";
})();
