// @ts-check
// Inputs with autocompletion for the titles of pages, photos and tags, in form fields and in the link dialog. A choice
// fills in a field's URL. In a dialog, the input gets a "chosen" event. Without this script, editors type URLs.
import { Combobox } from "./combobox.js";
import { create, fetchJson, find } from "./dom.js";

/**
 * @typedef {{ ref: string, address: string, title: string, kind?: string, path?: string, note?: string, thumbnail?: string }} Choice
 */

// How many milliseconds typing must pause before a request is sent.
const WAIT = 150;
const words = find(document, "#chooser", HTMLTemplateElement)?.dataset ?? {};
/** @type {WeakMap<HTMLInputElement, { show: (choice: Choice | null) => void, lookUp: () => void }>} */
const choosers = new WeakMap();

/**
 * Show a value that another script has set, such as a photo from the picker.
 *
 * @param {HTMLInputElement} input
 * @param {Choice} choice
 */
export function showChoice(input, choice) {
  choosers.get(input)?.show(choice);
}

/**
 * Look up the input's value immediately.
 *
 * @param {HTMLInputElement} input
 */
export function lookUp(input) {
  choosers.get(input)?.lookUp();
}

/** @param {Choice} choice */
function described(choice) {
  const details = [choice.kind, choice.path, choice.note].filter(Boolean).join(" · ");
  const parts = [create("strong", { textContent: choice.title }), create("small", { textContent: details })];
  if (!choice.thumbnail) return parts;
  return [create("img", { src: choice.thumbnail, alt: "", width: 48, height: 48 }), ...parts];
}

/** @param {string} typed */
const isHere = (typed) => /^(\/(?!\/)|node:|photo:)/.test(typed) || typed.startsWith(`${location.origin}/`);

/**
 * Return the URL or path that was typed, or "" if search words were typed.
 *
 * @param {string} typed
 */
function addressIn(typed) {
  if (/\s/.test(typed)) return "";
  if (/^(https?:\/\/.|mailto:.|tel:.|\/.|#.)/i.test(typed)) return typed;
  if (/^[^@/]+@[^@/]+\.[^@/]+$/.test(typed)) return `mailto:${typed}`;
  return /^[\w-]+(\.[\w-]+)*\.[a-z]{2,}([/?#]|$)/i.test(typed) ? `https://${typed}` : "";
}

/**
 * @param {string} source
 * @param {string} typed
 * @returns {Promise<Choice[]>}
 */
async function fetchChoices(source, typed) {
  return (await fetchJson(`${source}&${new URLSearchParams({ q: typed })}`)).choices;
}

/**
 * Return the site's choices for the typed text. If a URL was typed that isn't on the site, add it as the last choice.
 *
 * @param {string} source
 * @param {string} typed
 * @param {boolean} acceptsAddresses
 * @returns {Promise<Choice[]>}
 */
async function findChoices(source, typed, acceptsAddresses) {
  const address = acceptsAddresses ? addressIn(typed) : "";
  const own = !address || isHere(typed) || address !== typed ? await fetchChoices(source, typed) : [];
  if (!address || (isHere(typed) && own.length)) return own;
  return [...own, { ref: address, address, title: address, kind: words.link }];
}

/** @param {HTMLInputElement} input */
function enhance(input) {
  const source = input.dataset.choose ?? "";
  // In dialogs, the list is always open.
  const staysOpen = "open" in input.dataset;
  const status = create("span", { className: "chooser-told" });
  const frame = /** @type {HTMLElement} */ (input.closest(".chooser"));
  const card = find(frame, ".chosen", HTMLElement);
  const clear = find(frame, "[data-clear]", HTMLButtonElement);
  /** @type {Choice[]} */
  let choices = [];
  let asked = 0;
  let timer = 0;
  let isPending = false;
  // Whether Enter was pressed before the response arrived.
  let isWanted = false;
  let isOurs = false;

  /** @param {Choice[]} newChoices */
  const fill = (newChoices) => {
    choices = newChoices;
    box.fill(choices.map(described), input.value.trim() && choices.length ? 0 : -1);
  };
  const dropPending = () => {
    asked += 1;
    clearTimeout(timer);
    isPending = isWanted = false;
  };
  const close = () => {
    dropPending();
    status.textContent = "";
    fill([]);
  };
  /** @param {Choice | null} choice */
  const show = (choice) => {
    if (!card) return;
    card.replaceChildren(...(choice ? described(choice) : []));
    card.hidden = !choice;
    if (clear) clear.hidden = !input.value;
  };
  /** @param {Choice | null} choice */
  const put = (choice) => {
    isOurs = true;
    input.value = (input.dataset.as === "ref" ? choice?.ref : choice?.address) ?? "";
    for (const name of ["input", "change"]) input.dispatchEvent(new Event(name, { bubbles: true }));
    isOurs = false;
    show(choice);
  };
  /** @param {number} index */
  const take = (index) => {
    const choice = choices[index];
    close();
    if (card) put(choice);
    input.dispatchEvent(new CustomEvent("chosen", { detail: choice }));
  };
  const look = async () => {
    const number = asked;
    const typed = input.value.trim();
    try {
      const newChoices = await findChoices(source, typed, "addresses" in input.dataset);
      if (number !== asked) return;
      fill(newChoices);
      status.textContent = newChoices.length || !typed ? "" : (words.none ?? "");
    } catch {
      if (number !== asked) return;
      fill([]);
      status.textContent = words.failed ?? "";
    }
    isPending = false;
    if (isWanted && choices.length) take(0);
    isWanted = false;
  };
  /** @param {number} wait */
  const begin = (wait) => {
    // Any pending response belongs to text that was typed earlier.
    dropPending();
    isPending = true;
    box.mark(-1);
    timer = setTimeout(look, wait);
  };

  const box = new Combobox(input, {
    id: `${input.id}-choices`,
    className: "chooser-list",
    label: words.choices ?? "",
    take,
  });
  status.setAttribute("role", "status");
  frame.append(status, box.list);
  input.removeAttribute("list");
  input.placeholder = words.search ?? "";

  input.addEventListener("input", () => {
    if (isOurs) return;
    show(null);
    if (input.value.trim() || staysOpen) begin(WAIT);
    else close();
  });
  input.addEventListener("blur", () => {
    if (!staysOpen) close();
  });
  input.addEventListener("keydown", (event) => {
    const isEnter = event.key === "Enter" && !event.isComposing;
    // Whoever moves in the list chooses from what is shown.
    if (["ArrowDown", "ArrowUp"].includes(event.key) && box.isOpen) dropPending();
    if (event.key === "ArrowDown" && !box.isOpen && !isPending) begin(0);
    else if (event.key === "ArrowDown" && box.last >= 0) box.markNext();
    else if (event.key === "ArrowUp" && box.last >= 0) box.markPrevious();
    else if (isEnter && isPending) isWanted = true;
    else if (isEnter && box.at >= 0) take(box.at);
    else if (event.key === "Escape" && !staysOpen && box.isOpen) close();
    else if (!isEnter || !staysOpen) return;
    event.preventDefault();
    event.stopPropagation();
  });
  choosers.set(input, { show, lookUp: () => begin(0) });
  if (!card || !clear) return;
  clear.hidden = !input.value;
  input.form?.addEventListener("reset", () => setTimeout(() => show(null)));
  clear.addEventListener("click", () => {
    put(null);
    input.focus();
  });
  // Only the server knows whether this user can see the title of a target that is not public.
  if (/^(node|photo):/.test(input.value)) {
    fetchChoices(source, input.value)
      .then(([choice]) => choice && show(choice))
      .catch(() => {
        // Ignore errors, because the field already shows the URL.
      });
  }
}

for (const input of document.querySelectorAll("input[data-choose]")) enhance(/** @type {HTMLInputElement} */ (input));
// This also handles rows that are added later.
document.addEventListener("focusin", ({ target }) => {
  if (target instanceof HTMLInputElement && target.matches("[data-choose]:not([role])")) enhance(target);
});
