// A button that copies the address beside it. Browsers allow this only on secure pages.
(() => {
  "use strict";
  const place = document.querySelector("[data-copy]");
  if (!place || !navigator.clipboard) return;
  const address = place.querySelector("input");
  const copy = Object.assign(document.createElement("button"), {
    type: "button",
    className: "button",
    textContent: place.dataset.copy,
  });
  const said = Object.assign(document.createElement("span"), { className: "help", role: "status" });
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(address.value);
      said.textContent = place.dataset.copied;
    } catch {
      address.select(); // The browser refused. The selected address can be copied with the keyboard.
    }
  });
  place.append(copy, said);
})();
