// Tells that something goes on: a bar while a form's answer is long in coming, and the parts of a page that are "data-live", fetched
// anew while they change. Both are told by the page itself where there is no script, once it is loaded again.
(() => {
  "use strict";
  const SOON = 500;
  const AGAIN = 2000;
  const label = document.currentScript.dataset.working;
  let box;

  const show = () => {
    box = document.createElement("div");
    box.className = "working-bar";
    box.setAttribute("role", "status");
    const bar = document.createElement("progress");
    bar.setAttribute("aria-label", label);
    box.append(bar, label);
    document.body.append(box);
  };
  document.addEventListener("submit", (event) => {
    const opensHere = !event.target.target || event.target.target === "_self";
    // Who sends it in parts shows how far it is.
    if (!event.defaultPrevented && event.target.method === "post" && opensHere && !box) setTimeout(show, SOON);
  });
  addEventListener("pageshow", (event) => {
    if (event.persisted) box?.remove();
  });

  const follow = async () => {
    try {
      const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
      for (const part of document.querySelectorAll("[data-live]")) {
        const now = page.getElementById(part.id);
        if (now) part.replaceWith(now);
        else part.remove();
      }
    } catch {
      // Asked again below.
    }
    if (document.querySelector("[data-live]")) setTimeout(follow, AGAIN);
  };
  if (document.querySelector("[data-live]")) setTimeout(follow, AGAIN);
})();
