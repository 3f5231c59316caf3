// A button beside an address that copies it; browsers allow that on safe addresses only.
(() => {
  "use strict";
  const place = document.querySelector("[data-copy]");
  if (!place || !navigator.clipboard) return;
  const address = place.querySelector("input");
  const copy = Object.assign(document.createElement("button"), { type: "button", className: "button", textContent: place.dataset.copy });
  const said = Object.assign(document.createElement("span"), { className: "help", role: "status" });
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(address.value);
      said.textContent = place.dataset.copied;
    } catch {
      address.select(); // The browser was told not to: there is the keyboard's way.
    }
  });
  place.append(copy, said);
})();
