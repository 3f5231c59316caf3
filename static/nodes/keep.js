// Keeps what is typed into a node's form in this browser until it is saved: a lost connection, a closed tab or a crash loses nothing.
// One entry a page and account: the fields with the nonce they were typed under, so that what is taken back is merged as if sent then.
(() => {
  "use strict";
  const PREFIX = "marginalia-typed:";
  const DAYS = 14;
  const store = (() => {
    try {
      return window.localStorage;
    } catch {
      return null;
    }
  })();
  if (!store) return;

  const entries = () => Object.keys(store).filter((key) => key.startsWith(PREFIX));
  const read = (key) => {
    try {
      return JSON.parse(store.getItem(key));
    } catch {
      return null;
    }
  };

  // The server names the forms that it saved; what is too old goes too.
  const saved = [...document.querySelectorAll(".messagelist li")].flatMap((message) =>
    [...message.classList].filter((name) => name.startsWith("saved-")).map((name) => name.slice(6)),
  );
  for (const key of entries()) {
    const entry = read(key);
    if (!entry || saved.includes(entry.form) || Date.now() - entry.at > DAYS * 86400e3) store.removeItem(key);
  }

  const form = document.getElementById("node_form");
  if (!form) return;
  const key = `${PREFIX}${form.dataset.user}:${form.dataset.node}:${form.elements.namedItem("version")?.value || ""}`;
  const SKIPPED = ["csrfmiddlewaretoken"];
  const fields = () =>
    [...new FormData(form)].filter(([name, value]) => typeof value === "string" && !SKIPPED.includes(name));
  const plain = (list) => JSON.stringify(list.filter(([name]) => !["nonce", "form", "tags_seen"].includes(name)));
  const rendered = plain(fields());

  const keep = () => {
    const now = fields();
    if (plain(now) === rendered) return;
    try {
      store.setItem(key, JSON.stringify({ at: Date.now(), form: form.dataset.form, fields: now }));
    } catch {
      // Storage is full or forbidden: the text is on the page still.
    }
  };
  let timer;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(keep, 300);
  };
  form.addEventListener("input", later);
  form.addEventListener("change", later);
  form.addEventListener("submit", keep);
  window.addEventListener("pagehide", keep);

  const kept = read(key);
  // What the server shows again after a refusal goes on from the same form: it holds the text already.
  if (!kept || kept.form === form.dataset.form || plain(kept.fields) === rendered) return;
  const offer = document.getElementById("kept-text");
  if (!offer) return;
  offer.querySelector("[data-kept]").textContent = new Date(kept.at).toLocaleString(document.documentElement.lang || undefined);
  offer.hidden = false;
  offer.querySelector("[data-do=take]").addEventListener("click", () => {
    const values = new Map();
    for (const [name, value] of kept.fields) values.set(name, [...(values.get(name) || []), value]);
    for (const element of form.elements) {
      if (!values.has(element.name) || SKIPPED.includes(element.name)) continue;
      if (element.type === "radio" || element.type === "checkbox") element.checked = values.get(element.name).includes(element.value);
      else element.value = values.get(element.name)[0];
      // What shows a field in another way hears of it.
      element.dispatchEvent(new Event("change"));
    }
    form.dataset.form = kept.form;
    offer.hidden = true;
  });
  offer.querySelector("[data-do=drop]").addEventListener("click", () => {
    store.removeItem(key);
    offer.hidden = true;
  });
})();
