// @ts-check
// The parts of the live view that stand for Markdown: photos, inserts, bullets, checkboxes and rules.
import { WidgetType } from "../vendor/codemirror/codemirror.js";
import { create } from "./dom.js";

/** @import { EditorView } from "@codemirror/view" */

/** A widget that is compared with others by its values. A click on it places the caret in the Markdown behind it. */
class Widget extends WidgetType {
  /** @param {Record<string, any>} values */
  constructor(values) {
    super();
    this.values = values;
    this.key = JSON.stringify(values);
  }

  /**
   * @param {EditorView} _view
   * @returns {HTMLElement}
   */
  toDOM(_view) {
    throw new Error("A subclass creates the element.");
  }

  /** @param {this} other */
  eq(other) {
    return other.key === this.key;
  }

  ignoreEvent() {
    return false;
  }
}

export class Glyph extends Widget {
  toDOM() {
    const { className, text } = this.values;
    return create("span", { className, textContent: text, ariaHidden: "true" });
  }
}

export class Rule extends Widget {
  toDOM() {
    return create("span", { className: "md-rule", role: "separator" });
  }
}

export class Checkbox extends Widget {
  /** @param {EditorView} view */
  toDOM(view) {
    const box = create("input", { type: "checkbox", className: "md-checkbox", checked: this.values.isDone });
    box.setAttribute("aria-label", this.values.label);
    box.addEventListener("change", () => {
      const at = view.posAtDOM(box) + 1;
      view.dispatch({ changes: { from: at, to: at + 1, insert: box.checked ? "x" : " " }, userEvent: "input" });
    });
    return box;
  }

  ignoreEvent() {
    return true;
  }
}

/** A photo with its caption and its alternative text. */
export class Figure extends Widget {
  /**
   * @param {Record<string, any>} values
   * @param {any} words
   */
  constructor(values, words) {
    super(values);
    this.words = words;
  }

  get estimatedHeight() {
    return this.values.isInline ? -1 : 240;
  }

  toDOM() {
    const { picture, alt, caption, isInline, layout, source } = this.values;
    const { words } = this;
    const image = picture
      ? create("img", { src: picture.path, width: picture.width, height: picture.height, alt })
      : create("span", { className: "md-no-picture", textContent: words.missing.replace("%(source)s", source) });
    if (isInline) return create("span", { className: "md-inline-picture" }, image);
    const figure = create("span", { className: `md-figure ${layout}` }, image);
    if (caption) figure.append(create("span", { className: "md-caption", textContent: caption }));
    const note = alt ? words.alt.replace("%(alt)s", alt) : words.noAlt;
    figure.append(create("span", { className: alt ? "md-alt" : "md-alt md-alt-missing", textContent: note }));
    return figure;
  }
}

/** The present title of a link's target, or the reason why readers can't see it. */
export class TargetNote extends Widget {
  toDOM() {
    const { text, isProblem } = this.values;
    return create("span", { className: isProblem ? "md-target md-problem" : "md-target", textContent: text });
  }
}

/** An insert. A click opens its form. */
export class Card extends Widget {
  /**
   * @param {Record<string, any>} values
   * @param {(() => void) | null} open Opens the form, or null if the insert has none.
   */
  constructor(values, open) {
    super(values);
    this.open = open;
  }

  toDOM() {
    const { label, details, pictures, isProblem } = this.values;
    const content = [
      ...pictures
        .filter(Boolean)
        .map((/** @type {string} */ src) => create("img", { src, alt: "", width: 48, height: 48 })),
      create("strong", { textContent: label }),
      ...(details ? [create("span", { textContent: details })] : []),
    ];
    if (!this.open) {
      return create("span", { className: isProblem ? "md-card md-problem" : "md-card" }, ...content);
    }
    const button = create("button", { type: "button", className: "md-card" }, ...content);
    button.addEventListener("click", this.open);
    return button;
  }

  ignoreEvent() {
    return this.open !== null;
  }
}
