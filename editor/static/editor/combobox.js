// @ts-check
import { create, setAttributes } from "./dom.js";

/** An input with a list of options. The focus remains in the input, as the ARIA Authoring Practices recommend. */
export class Combobox {
  /** The index of the highlighted option, or -1. */
  at = -1;

  /**
   * @param {HTMLInputElement} input
   * @param {{ id: string, className: string, label: string, take: (index: number) => void }} options
   *   `take` receives the index of the option that was clicked.
   */
  constructor(input, { id, className, label, take }) {
    this.input = input;
    this.take = take;
    this.list = create("ul", { id, className, hidden: true });
    setAttributes(this.list, { role: "listbox", "aria-label": label });
    input.autocomplete = "off";
    setAttributes(input, {
      role: "combobox",
      "aria-autocomplete": "list",
      "aria-expanded": "false",
      "aria-controls": id,
    });
  }

  get isOpen() {
    return !this.list.hidden;
  }

  get last() {
    return this.list.children.length - 1;
  }

  /**
   * Show these options, or close the list if there are none.
   *
   * @param {(Node | string)[][]} contents
   * @param {number} [marked]
   */
  fill(contents, marked = -1) {
    this.list.replaceChildren(...contents.map((content, index) => this.#option(content, index)));
    this.list.hidden = !contents.length;
    this.input.setAttribute("aria-expanded", String(this.isOpen));
    this.mark(marked);
  }

  /** @param {number} index */
  mark(index) {
    this.at = index;
    for (const [number, option] of [...this.list.children].entries()) {
      option.setAttribute("aria-selected", String(number === index));
    }
    const marked = this.list.children[index];
    if (!marked) return this.input.removeAttribute("aria-activedescendant");
    this.input.setAttribute("aria-activedescendant", marked.id);
    return marked.scrollIntoView({ block: "nearest" });
  }

  markNext() {
    this.mark(this.at === this.last ? 0 : this.at + 1);
  }

  markPrevious() {
    this.mark(this.at <= 0 ? this.last : this.at - 1);
  }

  /**
   * @param {(Node | string)[]} content
   * @param {number} index
   */
  #option(content, index) {
    const option = create("li", { id: `${this.list.id}-${index}` }, ...content);
    option.setAttribute("role", "option");
    // Keep the focus in the input.
    option.addEventListener("pointerdown", (event) => event.preventDefault());
    option.addEventListener("click", () => this.take(index));
    return option;
  }
}
