// @ts-check
// Links to a list open it as it was last used in this browser: as a list or as a tree, with the same section and state,
// or the same open sections. list.js and tree.js store the latter.
const view = document.querySelector("[data-view-of]");
if (view instanceof HTMLElement) localStorage.setItem(`view:${view.dataset.viewOf}`, location.pathname);

for (const link of document.querySelectorAll(".rail-links a, a[data-list]")) {
  if (!(link instanceof HTMLAnchorElement) || link.search) continue;
  link.pathname = localStorage.getItem(`view:${link.pathname}`) ?? link.pathname;
  const last = localStorage.getItem(`list:${link.pathname}`);
  if (last && link.pathname !== location.pathname) link.search = last;
}
