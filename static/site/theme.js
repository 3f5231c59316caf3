// Before the first paint, and so the one script that is not deferred: the colours that the reader chose, under the admin's own key.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("theme");
  } catch {
    // No storage: the device's preference rules.
  }
  document.documentElement.dataset.theme = ["light", "dark"].includes(chosen) ? chosen : "auto";
})();
