// @ts-check
// Sends the typed fields of a node's form to the server every few seconds. Until the form is saved, the server stores
// the fields as a working copy that only the editor can see. If there is no connection or login, the browser stores the
// fields, and the next admin page sends them.
import { control, find, parseFragment } from "./dom.js";

/**
 * A form's fields, in order.
 *
 * @typedef {[string, string][]} Fields
 */

const PREFIX = "marginalia-typed:";
const DAY = 86_400_000;
const DAYS = 30;
// Times in milliseconds: pause in typing before sending, maximum time between two requests, time before a failed
// request is repeated, and pause in typing before the browser stores the fields.
const [QUIET, MOST, AGAIN, BRIEF] = [3_000, 10_000, 15_000, 300];
// Maximum number of bytes that browsers send from a page that is being closed. A character has up to three bytes.
const SMALL = 60_000;

/** @type {[string, string]} The field that requests the list of working copies. */
const OFFER = ["_offer", "1"];
const HEADING = /^#{1,6} /;

// document.currentScript isn't available in modules.
const words = /** @type {HTMLScriptElement} */ (document.querySelector("script[data-autosave]")).dataset;
const form = find(document, "#node_form", HTMLFormElement);
/** @type {string | undefined} The id of this form's working copy. */
const own = control(form, "_copy")?.value;

/** @param {string} copy */
const keyOf = (copy) => `${PREFIX}${words.user}:${copy}`;

/** @type {Storage | null} */
const storage = (() => {
  try {
    return window.localStorage;
  } catch {
    return null; // The browser forbids storage.
  }
})();

/**
 * @param {string} key
 * @returns {{ at: number, fields: Fields } | null}
 */
function readStored(key) {
  try {
    return JSON.parse(storage?.getItem(key) ?? "null");
  } catch {
    return null;
  }
}

/**
 * @param {Fields} fields
 * @param {RequestInit} [options]
 */
function send(fields, options) {
  const body = new FormData();
  for (const [name, value] of fields) body.append(name, value);
  const token = find(document, "[name=csrfmiddlewaretoken]", HTMLInputElement)?.value ?? "";
  return fetch(words.autosave ?? "", {
    method: "POST",
    body,
    // If the login has expired, the server redirects to another page.
    redirect: "manual",
    headers: { Accept: "application/json", "X-CSRFToken": token },
    ...options,
  });
}

/** Return the locks of all forms that are open in this browser. */
async function openForms() {
  const state = await navigator.locks?.query();
  return new Set(state?.held?.map(({ name }) => name));
}

/**
 * Offer working copies of forms that are no longer open. Forms in other tabs send their own copies.
 *
 * @param {string} [html] The list, as rendered by the server.
 */
async function offer(html) {
  const place = find(document, "#unsaved-work", HTMLElement);
  if (!place) return;
  if (html !== undefined) place.replaceChildren(...parseFragment(html));
  const elsewhere = await openForms();
  for (const one of /** @type {NodeListOf<HTMLElement>} */ (place.querySelectorAll("[data-copy]"))) {
    const copy = one.dataset.copy ?? "";
    one.hidden = copy === own || elsewhere.has(keyOf(copy));
  }
  const list = find(place, ".unsaved-list", HTMLElement);
  if (!list) return;
  const number = list.querySelectorAll("[data-copy]:not([hidden])").length;
  /** @type {Element} */ (list.querySelector("[data-count]")).textContent = String(number);
  list.hidden = !number;
}

/** Send the fields that this browser has stored for forms that are no longer open. */
async function sendStored() {
  const elsewhere = await openForms();
  for (const key of Object.keys(storage ?? {}).filter((name) => name.startsWith(PREFIX))) {
    const entry = readStored(key);
    if (!entry || Date.now() - entry.at > DAYS * DAY) {
      storage?.removeItem(key);
      continue;
    }
    if (!key.startsWith(keyOf("")) || (own && key === keyOf(own)) || elsewhere.has(key)) continue;
    const stored = new Map(entry.fields);
    const isHere = form && ["_node", "type"].every((name) => stored.get(name) === control(form, name)?.value);
    try {
      const answer = await send([...entry.fields, ["_closed", "1"], ...(isHere ? [OFFER] : [])]);
      if (!answer.ok) continue;
      storage?.removeItem(key);
      if (isHere) offer((await answer.json()).html);
    } catch {
      return; // There is still no connection.
    }
  }
}

/** Finds the heading above the last change of a text. Other editors see the heading, so it is never an unsaved one. */
class LastHeading {
  #heading = "";

  /** @param {HTMLTextAreaElement | null} text */
  constructor(text) {
    this.text = text;
    this.before = text?.value ?? "";
    this.saved = new Set(text?.defaultValue.split("\n").filter((line) => HEADING.test(line)));
  }

  find() {
    const now = this.text?.value ?? "";
    if (now === this.before) return this.#heading;
    let same = 0;
    while (same < now.length && now[same] === this.before[same]) same += 1;
    this.before = now;
    const above = now
      .slice(0, same)
      .split("\n")
      .filter((line) => this.saved.has(line));
    this.#heading = above.pop()?.replace(/^#+ +| +#+ *$/g, "") ?? "";
    return this.#heading;
  }
}

/** Sends the fields of this page's form. */
class Autosave {
  /** The number of the last request. A save has the highest number, so that the server can ignore late requests. */
  #number = 0;
  /** When the first change that has not been sent yet was typed, or 0. */
  #since = 0;
  /** The server's description of the state after the last request. */
  #lastState = "";
  #sending = false;
  #leaving = false;
  #sendTimer = 0;
  #storeTimer = 0;

  /**
   * @param {HTMLFormElement} form
   * @param {string} copy
   */
  constructor(form, copy) {
    this.form = form;
    this.key = keyOf(copy);
    this.state = find(document, "#saved-state", HTMLElement);
    this.heading = new LastHeading(control(form, "text"));
    // If a form is shown again, it contains values that are not stored anywhere yet.
    const isUnstored = "unstored" in form.dataset;
    this.sent = isUnstored ? "" : this.#typed();

    const typed = () => this.#afterKey();
    form.addEventListener("input", typed);
    form.addEventListener("change", typed);
    form.addEventListener("submit", (event) => this.#beforeSave(event));
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") this.#beforeLeaving();
    });
    window.addEventListener("online", () => this.#sendLater(0));
    this.#holdLock();
    if (isUnstored) this.#sendLater(0);
  }

  /** @returns {Fields} */
  #fields() {
    const all = /** @type {Fields} */ ([...new FormData(this.form)]);
    return all.filter(([name, value]) => typeof value === "string" && name !== "csrfmiddlewaretoken");
  }

  /** Return the form's fields as text for comparison, without the fields that this script adds. */
  #typed(fields = this.#fields()) {
    return JSON.stringify(fields.filter(([name]) => !name.startsWith("_")));
  }

  /**
   * @param {Fields} fields
   * @param {number} number
   * @returns {Fields}
   */
  #numbered(fields, number) {
    return [...fields.filter(([name]) => name !== "_seq"), ["_seq", String(number)]];
  }

  #nextNumber() {
    this.#number = Math.max(this.#number + 1, Date.now());
    return this.#number;
  }

  /**
   * Screen readers announce failures, but not every request.
   *
   * @param {string | undefined} text
   */
  #tell(text, isFailure = false) {
    if (!this.state) return;
    this.state.setAttribute("aria-live", isFailure ? "polite" : "off");
    if (this.state.textContent !== text) this.state.textContent = text ?? "";
  }

  /** Store the fields in the browser. Return whether the browser's storage contains everything that was typed. */
  #store() {
    clearTimeout(this.#storeTimer);
    const fields = this.#fields();
    if (this.#typed(fields) === this.sent) return true;
    if (!storage) return false;
    try {
      const entry = { at: Date.now(), fields: this.#numbered(fields, this.#nextNumber()) };
      storage.setItem(this.key, JSON.stringify(entry));
      return true;
    } catch {
      return false; // The storage is full. The text is still on the page.
    }
  }

  /** @param {number} wait */
  #sendLater(wait) {
    clearTimeout(this.#sendTimer);
    this.#sendTimer = setTimeout(() => this.#send(), wait);
  }

  /**
   * @param {RequestInit} [options]
   * @param {Fields} [more]
   */
  async #send(options, more = []) {
    clearTimeout(this.#sendTimer);
    const fields = [...this.#fields(), .../** @type {Fields} */ ([["_heading", this.heading.find()]]), ...more];
    const typed = this.#typed(fields);
    if (typed === this.sent) {
      // The event didn't change anything, or the user has undone the change.
      if (this.#lastState) this.#tell(this.#lastState);
      return;
    }
    if (this.#sending && !options) return;
    const number = this.#nextNumber();
    /** @type {Response | null} */
    let answer = null;
    this.#sending = true;
    try {
      answer = await send(this.#numbered(fields, number), options);
      if (answer.ok) this.#lastState = (await answer.json()).state;
    } catch {
      // There is no connection.
    }
    this.#sending = false;
    if (!answer?.ok) {
      this.#afterFailure(answer);
      return;
    }
    this.sent = typed;
    this.#since = 0;
    const entry = readStored(this.key);
    if (entry && Number(new Map(entry.fields).get("_seq")) <= number) storage?.removeItem(this.key);
    if (this.#typed() === typed) this.#tell(this.#lastState);
    else this.#sendLater(QUIET);
  }

  /** @param {Response | null} answer */
  #afterFailure(answer) {
    const isStored = this.#store();
    const isLoggedOut = answer?.type === "opaqueredirect" || answer?.status === 403;
    if (answer?.status === 413) this.#tell(words.tooLong, true);
    else if (isLoggedOut) this.#tell(isStored ? words.outKept : words.out, true);
    else this.#tell(isStored ? words.offline : words.unsaved, true);
    if (!answer || answer.status >= 500 || answer.status === 429) this.#sendLater(AGAIN);
  }

  #afterKey() {
    this.#leaving = false;
    this.#since ||= Date.now();
    this.#tell(words.unsaved);
    clearTimeout(this.#storeTimer);
    this.#storeTimer = setTimeout(() => this.#store(), BRIEF);
    this.#sendLater(Math.max(0, Math.min(QUIET, this.#since + MOST - Date.now())));
  }

  /** @param {SubmitEvent} event */
  #beforeSave(event) {
    if (event.defaultPrevented) return;
    const isStored = this.#store();
    if (!navigator.onLine) {
      // Otherwise, the browser would replace the form with its own error page.
      event.preventDefault();
      this.#tell(isStored ? words.offline : words.unsaved, true);
      return;
    }
    clearTimeout(this.#sendTimer);
    control(this.form, "_seq").value = this.#nextNumber();
    this.#leaving = true;
  }

  /** @param {Fields} [more] */
  #beforeLeaving(more) {
    const typed = this.#typed();
    if (this.#leaving || typed === this.sent) return;
    this.#store();
    this.#send({ keepalive: typed.length < SMALL / 3 }, more);
  }

  /** The form is being closed without saving it, so other editors should no longer see its editor. */
  #beforeClosing() {
    this.#beforeLeaving([["_closed", "1"]]);
    if (this.#leaving || !this.#lastState) return;
    const names = new Set(["_copy", "_user", "_node", "type"]);
    const fields = this.#fields().filter(([name]) => names.has(name));
    send([...this.#numbered(fields, this.#nextNumber()), ["_leave", "1"]], { keepalive: true }).catch(() => {});
  }

  /** While the form is open, hold a lock whose name contains the working copy's id. */
  #holdLock() {
    let release = () => {};
    const hold = () =>
      navigator.locks?.request(
        this.key,
        () =>
          new Promise((/** @type {(value?: unknown) => void} */ done) => {
            release = done;
          }),
      );
    hold();
    window.addEventListener("pagehide", () => {
      this.#beforeClosing();
      release();
    });
    // The page is shown again from the browser's cache.
    window.addEventListener("pageshow", ({ persisted }) => {
      if (persisted) hold();
    });
  }
}

if (form && own) {
  new Autosave(form, own);
  offer();
}
sendStored();
