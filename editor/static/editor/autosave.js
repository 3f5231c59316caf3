// Sends the typed fields of a node's form to the server every few seconds. The server stores them as a working copy, only for the
// editor, until the form is saved. Without a connection or login, the browser stores them, and sends them from the next admin page.
(() => {
  "use strict";
  const { user, url, ...words } = document.currentScript.dataset;
  const PREFIX = "marginalia-typed:";
  const DAYS = 30;
  // Milliseconds: quiet time before sending, maximum time between two requests, and time before a failed request is repeated.
  const [QUIET, MOST, AGAIN] = [3_000, 10_000, 15_000];
  // Maximum bytes that browsers send from a page that is being closed.
  const SMALL = 60_000;
  const mine = (copy) => `${PREFIX}${user}:${copy}`;

  const store = (() => {
    try {
      return window.localStorage;
    } catch {
      return null;
    }
  })();
  const read = (key) => {
    try {
      return JSON.parse(store.getItem(key));
    } catch {
      return null;
    }
  };

  const send = (fields, more) => {
    const body = new FormData();
    for (const [name, value] of fields) body.append(name, value);
    const token = document.querySelector("[name=csrfmiddlewaretoken]")?.value || "";
    // If the login has expired, the server redirects to another page.
    return fetch(url, {
      method: "POST",
      body,
      redirect: "manual",
      headers: { Accept: "application/json", "X-CSRFToken": token },
      ...more,
    });
  };

  const form = document.getElementById("node_form");
  const field = (name) => form?.elements.namedItem(name);
  const own = field("_copy")?.value;

  // Forms that are open in another tab send their own copies, so they are not offered here.
  const open = async () => new Set(((await navigator.locks?.query())?.held || []).map((lock) => lock.name));
  const offer = async (html) => {
    const place = document.getElementById("unsaved-work");
    if (!place) return;
    if (html !== undefined) place.innerHTML = html; // rendered by the server's template
    const elsewhere = await open();
    for (const one of place.querySelectorAll("[data-copy]"))
      one.hidden = one.dataset.copy === own || elsewhere.has(mine(one.dataset.copy));
  };

  const flush = async () => {
    const elsewhere = await open();
    for (const key of Object.keys(store || {}).filter((name) => name.startsWith(PREFIX))) {
      const entry = read(key);
      if (!entry || Date.now() - entry.at > DAYS * 86400e3) store.removeItem(key);
      else if (key.startsWith(mine("")) && key !== mine(own) && !elsewhere.has(key)) {
        const said = new Map(entry.fields);
        const here = form && ["_node", "type"].every((name) => said.get(name) === field(name)?.value);
        try {
          const answer = await send(here ? [...entry.fields, ["_offer", "1"]] : entry.fields);
          if (!answer.ok) continue;
          store.removeItem(key);
          if (here) offer((await answer.json()).html);
        } catch {
          return; // Still no connection.
        }
      }
    }
  };

  if (own) {
    const key = mine(own);
    const state = document.getElementById("saved-state");
    const fields = () =>
      [...new FormData(form)].filter(([name, value]) => typeof value === "string" && name !== "csrfmiddlewaretoken");
    const plain = (list) => JSON.stringify(list.filter(([name]) => !name.startsWith("_")));
    const numbered = (list, number) => [...list.filter(([name]) => name !== "_seq"), ["_seq", String(number)]];
    let last = 0;
    const next = () => (last = Math.max(last + 1, Date.now()));
    // A form that was shown again contains values that are not stored anywhere yet.
    const isUnstored = "unstored" in form.dataset;
    let sent = isUnstored ? "" : plain(fields());
    let [since, waits, keeps, busy, leaving] = [0, 0, 0, false, false];

    // Screen readers announce failures, but not each request.
    const tell = (text, isWrong = false) => {
      if (!state) return;
      state.setAttribute("aria-live", isWrong ? "polite" : "off");
      if (state.textContent !== text) state.textContent = text;
    };

    // Returns whether the browser's storage contains the typed fields.
    const keep = () => {
      clearTimeout(keeps);
      const now = fields();
      if (plain(now) === sent) return true;
      try {
        store.setItem(key, JSON.stringify({ at: Date.now(), fields: numbered(now, next()) }));
        return true;
      } catch {
        return false; // The storage is full or forbidden. The text is still on the page.
      }
    };
    const later = (wait) => {
      clearTimeout(waits);
      waits = setTimeout(save, wait);
    };
    const failed = (answer) => {
      const kept = keep();
      const isOut = answer?.type === "opaqueredirect" || answer?.status === 403;
      if (answer?.status === 413) tell(words.tooLong, true);
      else if (isOut) tell(kept ? words.outKept : words.out, true);
      else tell(kept ? words.offline : words.unsaved, true);
      if (!answer || answer.status >= 500 || answer.status === 429) later(AGAIN);
    };
    const save = async (more) => {
      clearTimeout(waits);
      const now = fields();
      const said = plain(now);
      if (said === sent || (busy && !more)) return;
      const number = next();
      let answer = null;
      let told = "";
      busy = true;
      try {
        answer = await send(numbered(now, number), more);
        if (answer.ok) ({ told } = await answer.json());
      } catch {
        // No connection.
      }
      busy = false;
      if (!answer?.ok) return failed(answer);
      [sent, since] = [said, 0];
      const entry = read(key);
      if (entry && Number(new Map(entry.fields).get("_seq")) <= number) store.removeItem(key);
      if (plain(fields()) === said) tell(told);
      else later(QUIET);
      return undefined;
    };

    const typed = () => {
      leaving = false;
      since ||= Date.now();
      tell(words.unsaved);
      clearTimeout(keeps);
      keeps = setTimeout(keep, 300);
      later(Math.max(0, Math.min(QUIET, since + MOST - Date.now())));
    };
    form.addEventListener("input", typed);
    form.addEventListener("change", typed);
    const hide = () => {
      if (leaving || plain(fields()) === sent) return;
      keep();
      save({ keepalive: plain(fields()).length < SMALL / 3 });
    };
    document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && hide());
    window.addEventListener("online", () => later(0));
    // A save has a greater number than all requests before it, so the server recognizes late requests.
    form.addEventListener("submit", (event) => {
      if (event.defaultPrevented) return;
      const isKept = keep();
      if (!navigator.onLine) {
        // The browser would replace the form by its own error page.
        event.preventDefault();
        tell(isKept ? words.offline : words.unsaved, true);
        return;
      }
      clearTimeout(waits);
      field("_seq").value = next();
      leaving = true;
    });

    let shut = () => {};
    const hold = () => navigator.locks?.request(key, () => new Promise((done) => (shut = done)));
    hold();
    window.addEventListener("pagehide", () => {
      hide();
      shut();
    });
    window.addEventListener("pageshow", (event) => event.persisted && hold());
    offer();
    if (isUnstored) later(0);
  }
  flush();
})();
