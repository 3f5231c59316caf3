// @ts-check
// Autocompletes tags. Offers existing tags that begin with or contain the text between two commas.
import { Combobox } from "./combobox.js";
import { create, fetchJson } from "./dom.js";

// How many milliseconds typing must pause before a request is sent.
const WAIT = 150;

/**
 * @param {HTMLInputElement} input
 * @param {string} source
 */
function complete(input, source) {
  const label = input.labels?.[0]?.textContent.replace(/:\s*$/, "") || input.name;
  /** @type {string[]} */
  let tags = [];
  let asked = 0;
  let timer = 0;

  // The tag that is being typed, from the comma before the cursor to the comma after the cursor.
  const part = () => {
    const start = input.value.lastIndexOf(",", (input.selectionStart ?? 0) - 1) + 1;
    const comma = input.value.indexOf(",", input.selectionStart ?? 0);
    return { start, end: comma < 0 ? input.value.length : comma };
  };
  const dropPending = () => {
    asked += 1;
    clearTimeout(timer);
  };
  const close = () => {
    dropPending();
    box.fill([]);
  };
  /** @param {number} index */
  const take = (index) => {
    const { start, end } = part();
    const before = input.value.slice(0, start);
    const after = input.value.slice(end).replace(/^,\s*/, "");
    const head = `${before}${before ? " " : ""}${tags[index]}, `;
    input.value = head + after;
    input.setSelectionRange(head.length, head.length);
    close();
    input.dispatchEvent(new Event("change", { bubbles: true }));
  };
  const show = async () => {
    const number = ++asked;
    const { start, end } = part();
    const typed = input.value.slice(start, end).trim();
    if (!typed) return close();
    try {
      const answer = await fetchJson(`${source}?${new URLSearchParams({ q: typed })}`);
      if (number !== asked) return undefined;
      const given = input.value.split(",").map((tag) => tag.trim().toLowerCase());
      tags = answer.tags.filter((/** @type {string} */ tag) => !given.includes(tag.toLowerCase()));
      box.fill(tags.map((tag) => [tag]));
    } catch {
      close(); // If there is no response, the editor can still type the rest of the tag.
    }
    return undefined;
  };

  const box = new Combobox(input, { id: `${input.id}-tags`, className: "tag-list", label, take });
  const frame = create("div", { className: "tag-box" });
  input.before(frame);
  frame.append(input, box.list);

  input.addEventListener("input", () => {
    dropPending();
    box.mark(-1);
    timer = setTimeout(show, WAIT);
  });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (!box.isOpen) {
      if (event.key === "ArrowDown" && !event.altKey) show();
      return;
    }
    // Whoever moves in the list chooses from what is shown.
    if (["ArrowDown", "ArrowUp"].includes(event.key)) dropPending();
    if (event.key === "ArrowDown") box.markNext();
    else if (event.key === "ArrowUp") box.markPrevious();
    else if (event.key === "Enter" && box.at >= 0) take(box.at);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

for (const form of document.querySelectorAll("form[data-tags]")) {
  for (const input of form.querySelectorAll("input[name=tags]")) {
    complete(/** @type {HTMLInputElement} */ (input), /** @type {HTMLFormElement} */ (form).dataset.tags ?? "");
  }
}
