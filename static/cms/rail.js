// @ts-check
// Links to a list open it with the section and state that were last used in this browser. list.js stores them.
for (const link of document.querySelectorAll(".rail-links a, a[data-list]")) {
  if (!(link instanceof HTMLAnchorElement) || link.search) continue;
  const last = localStorage.getItem(`list:${link.pathname}`);
  if (last && link.pathname !== location.pathname) link.search = last;
}
