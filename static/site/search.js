// @ts-check
// Suggests pages, tags and authors while a reader types, as a combobox. Without this script, the form works as usual.

// How long the reader must stop typing before suggestions are requested, in milliseconds.
const WAIT = 120;
const MIN_LETTERS = 3;

/** @param {HTMLInputElement} input */
function setUp(input) {
  const list = /** @type {HTMLElement} */ (input.parentElement?.querySelector(".suggestions"));
  let timer = 0;
  let asked = 0;
  let chosen = -1;

  input.setAttribute("role", "combobox");
  input.setAttribute("aria-autocomplete", "list");
  input.setAttribute("aria-controls", list.id);
  input.setAttribute("aria-expanded", "false");
  list.setAttribute("role", "listbox");

  const dropPending = () => {
    asked += 1;
    clearTimeout(timer);
  };
  const show = (isShown) => {
    list.hidden = !isShown;
    input.setAttribute("aria-expanded", String(isShown));
    if (isShown) return;
    dropPending();
    choose(-1);
  };
  /** Mark an option as chosen. -1 stands for the typed text. */
  const choose = (number) => {
    chosen = number;
    for (const [place, option] of [...list.children].entries()) {
      option.setAttribute("aria-selected", String(place === number));
    }
    if (number < 0) input.removeAttribute("aria-activedescendant");
    else input.setAttribute("aria-activedescendant", list.children[number].id);
  };
  const suggest = async () => {
    const number = asked;
    const typed = input.value.trim();
    // A single character of a script without spaces can be a word.
    const isLongEnough =
      typed.length >= MIN_LETTERS ||
      /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u9fff\u{20000}-\u{3ffff}]/u.test(typed);
    const query = new URLSearchParams({ q: typed });
    const answer = isLongEnough ? await fetch(`${input.dataset.suggestions}?${query}`).catch(() => null) : null;
    const found = answer?.ok ? (await answer.json()).suggestions : [];
    if (number !== asked) return;
    list.replaceChildren(...found.map((each, number) => makeOption(each, `${list.id}-${number}`)));
    show(found.length > 0);
  };

  input.addEventListener("input", () => {
    dropPending();
    choose(-1);
    timer = setTimeout(suggest, WAIT);
  });
  input.addEventListener("keydown", (event) => {
    const count = list.hidden ? 0 : list.children.length;
    if (event.key === "Escape" && count) {
      event.preventDefault();
      show(false);
    } else if (event.key === "Enter" && chosen >= 0 && count) {
      event.preventDefault();
      location.assign(/** @type {HTMLElement} */ (list.children[chosen]).dataset.url ?? "");
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && count) {
      event.preventDefault();
      // Whoever moves in the list chooses from what is shown.
      dropPending();
      const step = event.key === "ArrowDown" ? 1 : -1;
      // The typed text comes before the first option.
      choose(((chosen + 1 + step + count + 1) % (count + 1)) - 1);
      list.children[chosen]?.scrollIntoView({ block: "nearest" });
    }
  });
  input.addEventListener("blur", () => show(false));
  // Keep the focus in the field, so that the list stays open until the click is complete.
  list.addEventListener("pointerdown", (event) => event.preventDefault());
  list.addEventListener("click", ({ target }) => {
    const option = /** @type {HTMLElement | null} */ (/** @type {Element} */ (target).closest("[data-url]"));
    if (option) location.assign(option.dataset.url ?? "");
  });
}

function makeOption({ text, kind, url }, id) {
  const option = document.createElement("li");
  const label = document.createElement("span");
  option.id = id;
  option.dataset.url = url;
  option.setAttribute("role", "option");
  option.setAttribute("aria-selected", "false");
  label.textContent = text;
  label.dir = "auto";
  option.append(label);
  if (kind) {
    const note = document.createElement("small");
    note.textContent = kind;
    option.append(" ", note);
  }
  return option;
}

export function setUpSearchFields() {
  for (const input of document.querySelectorAll("input[data-suggestions]:not([role])")) {
    setUp(/** @type {HTMLInputElement} */ (input));
  }
}

setUpSearchFields();
