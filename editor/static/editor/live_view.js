// @ts-check
// The live view of Markdown: the text looks as it will for readers, and the markup is shown only around the caret.
//
// The view consists of decorations, which never change the text. Only the visible part of the text is decorated.
import {
  Decoration,
  ensureSyntaxTree,
  Prec,
  StateEffect,
  syntaxTree,
  ViewPlugin,
} from "../vendor/codemirror/codemirror.js";
import { parseDirective } from "./directives.js";
import { cellsOf, textOf } from "./tables.js";
import { Card, Checkbox, Figure, Glyph, Rule, TargetNote } from "./widgets.js";

/** @import { Range } from "@codemirror/state" */
/** @import { EditorView, ViewUpdate, WidgetType } from "@codemirror/view" */
/** @import { SyntaxNode, SyntaxNodeRef, Tree } from "@lezer/common" */

/**
 * @typedef {import("./targets.js").Targets} Targets
 * @typedef {{ targets: Targets, words: any, describeInsert: (name: string) => string | null,
 *   editInsert: (view: EditorView, position: number) => void }} Options
 */

// How many milliseconds parsing may take when the text is shown.
const PARSE = 40;
/** Shows the view again, for example because the titles of targets have arrived. */
export const refresh = StateEffect.define();

// The classes of photos that aren't as wide as the text.
const LAYOUTS = new Set(["wide", "full", "half", "third", "left", "right"]);
const hidden = Decoration.replace({});
// Inclusive, so that the hidden markup at the ends of a cell is inside the cell's element.
const cell = Decoration.mark({ class: "md-cell", inclusive: true });
/** @type {Map<string, Decoration>} */
const classes = new Map();

/** @param {string} name */
function lineClass(name) {
  const found = classes.get(name) ?? Decoration.line({ class: name });
  classes.set(name, found);
  return found;
}

/** @param {string} name */
const mark = (name, title = "") => Decoration.mark({ class: name, attributes: title ? { title } : undefined });

/** Collects the decorations of the visible text. */
class Decorator {
  /** @type {Range<Decoration>[]} */
  #ranges = [];
  /** @type {Map<number, { depth: number, isFirst: boolean }>} The depths of list items by the start of the line. */
  #lists = new Map();
  #depth = 0;

  /**
   * @param {EditorView} view
   * @param {Options} options
   */
  constructor(view, options) {
    this.view = view;
    this.state = view.state;
    this.options = options;
    this.selection = view.hasFocus ? view.state.selection.main : null;
  }

  decorate() {
    const { state, view } = this;
    const tree = ensureSyntaxTree(state, view.viewport.to, PARSE) ?? syntaxTree(state);
    for (const { from, to } of view.visibleRanges) {
      tree.iterate({
        from,
        to,
        enter: (node) => this.#enter(node, from, to),
        leave: ({ name }) => {
          if (name === "BulletList" || name === "OrderedList") this.#depth -= 1;
        },
      });
    }
    for (const [from, { depth, isFirst }] of this.#lists) {
      const attributes = { class: isFirst ? "md-list md-item" : "md-list", style: `--depth: ${depth}` };
      this.#ranges.push(Decoration.line({ attributes }).range(from));
    }
    this.#decorateContainers(tree);
    return Decoration.set(this.#ranges, true);
  }

  /**
   * Return whether the caret touches this range, so that its markup is shown.
   *
   * @param {number} from
   * @param {number} to
   */
  #isTouched(from, to) {
    const { selection } = this;
    if (!selection) return false;
    if (selection.empty) return from <= selection.head && selection.head <= to;
    return from <= selection.from && selection.to <= to;
  }

  /** @param {number} position */
  #isLineTouched(position) {
    const { from, to } = this.state.doc.lineAt(position);
    return this.#isTouched(from, to);
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  #hide(from, to) {
    if (this.#isInLine(from, to)) this.#ranges.push(hidden.range(from, to));
  }

  /**
   * Return whether a range is in one line. CodeMirror forbids plugins to replace line breaks.
   *
   * @param {number} from
   * @param {number} to
   */
  #isInLine(from, to) {
    return from < to && to <= this.state.doc.lineAt(from).to;
  }

  /**
   * @param {number} from
   * @param {number} to
   * @param {WidgetType} widget
   */
  #replace(from, to, widget) {
    if (this.#isInLine(from, to)) this.#ranges.push(Decoration.replace({ widget }).range(from, to));
  }

  /**
   * Add a class to the visible lines of a block.
   *
   * @param {number} from
   * @param {number} to
   * @param {string} name
   * @param {(from: number, index: number) => void} [each]
   */
  #lines(from, to, name, each) {
    const { doc } = this.state;
    const { viewport } = this.view;
    const last = doc.lineAt(Math.min(to, viewport.to)).number;
    for (let number = doc.lineAt(Math.max(from, viewport.from)).number; number <= last; number += 1) {
      const line = doc.line(number);
      if (name) this.#ranges.push(lineClass(name).range(line.from));
      each?.(line.from, number);
    }
  }

  /** Return the position after the spaces that follow a mark on its line.
   *
   * @param {number} position
   */
  #afterSpaces(position) {
    const { from, text } = this.state.doc.lineAt(position);
    let end = position;
    while (/[ \t]/.test(text.charAt(end - from))) end += 1;
    return end;
  }

  /**
   * @param {SyntaxNodeRef} node
   * @param {number} start
   * @param {number} end
   * @returns {boolean | undefined} False if the node's children need no decorations.
   */
  #enter(node, start, end) {
    const { from, to, name } = node;
    if (name.startsWith("ATXHeading") || name.startsWith("SetextHeading")) {
      this.#lines(from, to, `md-line-heading md-line-heading-${name.at(-1)}`);
      return undefined;
    }
    switch (name) {
      case "HeaderMark":
        this.#decorateHeaderMark(node);
        return undefined;
      case "EmphasisMark":
      case "StrikethroughMark":
      case "HighlightMark":
      case "SubscriptMark":
      case "SuperscriptMark":
      case "CodeMark": {
        const parent = node.node.parent;
        if (parent && !this.#isTouched(parent.from, parent.to)) this.#hide(from, to);
        return undefined;
      }
      case "Subscript":
      case "Superscript":
        this.#ranges.push(mark(`md-${name.toLowerCase()}`).range(from, to));
        return undefined;
      case "InlineCode":
        this.#ranges.push(mark("md-inline-code").range(from, to));
        return undefined;
      case "Escape":
        if (!this.#isTouched(from, to)) this.#hide(from, from + 1);
        return undefined;
      case "HardBreak":
        if (this.state.sliceDoc(from, from + 1) === "\\" && !this.#isTouched(from, from + 1))
          this.#hide(from, from + 1);
        return undefined;
      case "Link":
        this.#decorateLink(node);
        return undefined;
      case "Autolink":
        if (!this.#isTouched(from, to)) {
          this.#hide(from, from + 1);
          this.#hide(to - 1, to);
        }
        return undefined;
      case "Image":
        this.#decorateImage(node);
        return false;
      case "Directive":
        this.#decorateDirective(node);
        return false;
      case "HorizontalRule":
        if (!this.#isLineTouched(from)) this.#replace(from, to, new Rule({}));
        return false;
      case "Blockquote":
        this.#lines(from, to, "md-line-quote");
        return undefined;
      case "QuoteMark":
        if (!this.#isLineTouched(from)) this.#hide(from, Math.min(this.#afterSpaces(to), to + 1));
        return undefined;
      case "BulletList":
      case "OrderedList":
        this.#depth += 1;
        return undefined;
      case "ListItem":
        this.#decorateListItem(node);
        return undefined;
      case "ListMark":
        this.#decorateListMark(node);
        return undefined;
      case "TaskMarker":
        if (!this.#isTouched(from, to)) {
          const isDone = /x/i.test(this.state.sliceDoc(from, to));
          this.#replace(from, to, new Checkbox({ isDone, label: this.options.words.task }));
        }
        return undefined;
      case "FencedCode":
      case "CodeBlock":
        this.#lines(from, to, "md-line-code");
        return undefined;
      case "HTMLBlock":
      case "CommentBlock":
        this.#lines(from, to, "md-line-html");
        return false;
      case "HTMLTag":
        this.#ranges.push(mark("md-html").range(from, to));
        return false;
      case "Table":
        this.#decorateTable(node, start, end);
        return undefined;
      case "FootnoteReference":
        this.#ranges.push(mark("md-footnote").range(from, to));
        if (!this.#isTouched(from, to)) {
          this.#hide(from, from + 2);
          this.#hide(to - 1, to);
        }
        return false;
      case "FootnoteMark":
        this.#ranges.push(mark("md-footnote").range(from, to));
        if (!this.#isTouched(from, to)) {
          this.#hide(from, from + 2);
          this.#hide(to - 2, to);
        }
        return false;
      default:
        return undefined;
    }
  }

  /** @param {SyntaxNodeRef} node */
  #decorateHeaderMark({ from, to, node }) {
    if (this.#isLineTouched(from) || node.parent?.name.startsWith("Setext")) return;
    // The mark at the beginning is followed by spaces. A mark at the end is preceded by spaces.
    if (from === node.parent?.from) {
      this.#hide(from, this.#afterSpaces(to));
      return;
    }
    const before = this.state.sliceDoc(this.state.doc.lineAt(from).from, from);
    this.#hide(from - (before.length - before.trimEnd().length), to);
  }

  /** @param {SyntaxNodeRef} ref */
  #decorateLink({ from, to, node }) {
    const marks = node.getChildren("LinkMark");
    const url = node.getChild("URL");
    if (marks.length < 2) return;
    const [opening, closing] = marks;
    if (!url && !node.getChild("LinkLabel")) {
      // Brackets are a link only if the text defines the link elsewhere. "[!NOTE]" begins a note.
      const isNote = /^\[!\w+\]$/.test(this.state.sliceDoc(from, to));
      this.#ranges.push(mark(isNote ? "md-note-kind" : "md-plain").range(from, to));
      if (!isNote || this.#isTouched(from, to)) return;
      this.#hide(from, from + 2);
      this.#hide(to - 1, to);
      return;
    }
    const source = url ? this.state.sliceDoc(url.from, url.to) : "";
    const isReference = /^(node|photo):/.test(source);
    const isTouched = this.#isTouched(from, to);
    const target = isReference ? this.options.targets.get(source) : undefined;
    if (opening.to < closing.from) {
      const title = target ? [target.title, target.path].filter(Boolean).join(" · ") : source;
      this.#ranges.push(mark(isReference ? "md-link md-chip" : "md-link", title).range(opening.to, closing.from));
    }
    if (isTouched || !this.#isInLine(closing.from, to)) return;
    this.#hide(from, opening.to);
    const note = this.#noteOf(this.state.sliceDoc(opening.to, closing.from), target);
    if (note) this.#replace(closing.from, to, new TargetNote(note));
    else this.#hide(closing.from, to);
  }

  /**
   * Return what to show after a link: the present title of its target, if it isn't the link text, or the reason why
   * readers can't see the target.
   *
   * @param {string} words
   * @param {import("./targets.js").Target | null | undefined} target
   */
  #noteOf(words, target) {
    if (target === null) return { text: this.options.words.noTarget, isProblem: true };
    if (target?.note) return { text: `${target.title} · ${target.note}`, isProblem: true };
    if (!target || words.replace(/\\(.)/g, "$1").trim() === target.title) return null;
    return { text: target.title, isProblem: false };
  }

  /** @param {SyntaxNodeRef} ref */
  #decorateImage({ from, to, node }) {
    const url = node.getChild("URL");
    const [opening, closing] = node.getChildren("LinkMark");
    if (!url || !closing) return;
    const line = this.state.doc.lineAt(from);
    const source = this.state.sliceDoc(url.from, url.to);
    const title = node.getChild("LinkTitle");
    const target = source.startsWith("photo:") ? this.options.targets.get(source) : undefined;
    const values = {
      source,
      // Without alternative text, readers get the photo's own one.
      alt: this.state.sliceDoc(opening.to, closing.from) || target?.alt,
      caption: title ? this.state.sliceDoc(title.from + 1, title.to - 1) : "",
      picture: target?.picture ?? null,
      layout: "",
      isInline: line.text.trim().length !== to - from,
    };
    this.#showFigure(from, to, values);
  }

  /**
   * @param {number} from
   * @param {number} to
   * @param {Record<string, any>} values
   */
  #showFigure(from, to, values) {
    const widget = new Figure(values, this.options.words);
    if (!this.#isTouched(from, to)) {
      this.#replace(from, to, widget);
      return;
    }
    this.#ranges.push(mark("md-source").range(from, to));
    // The photo stays below its Markdown, so that the text below doesn't move.
    if (!values.isInline) this.#ranges.push(Decoration.widget({ widget, side: 1 }).range(to));
  }

  /** @param {SyntaxNodeRef} node */
  #decorateDirective({ from, to }) {
    const spelled = this.state.sliceDoc(from, to);
    const directive = parseDirective(spelled);
    if (directive?.name === "photo" && this.#showPhoto(from, to, directive.attributes)) return;
    if (this.#isLineTouched(from)) {
      this.#ranges.push(mark("md-source").range(from, to));
      return;
    }
    if (!directive) {
      if (/^:{3,}\s*$/.test(spelled)) this.#replace(from, to, new Glyph({ className: "md-container-end", text: "" }));
      return;
    }
    const { name, attributes } = directive;
    const label = this.options.describeInsert(name);
    const photos = Object.values(attributes).filter((value) => value.startsWith("photo:"));
    const details = Object.values(attributes).filter((value) => !photos.includes(value));
    const values = {
      label: label ?? this.options.words.noInsert.replace("%(name)s", name),
      details: details.map((value) => this.#titleOf(value)).join(" · "),
      pictures: photos.flatMap((value) => value.split(",")).map((ref) => this.options.targets.get(ref)?.thumbnail),
      isProblem: label === null,
      spelled,
    };
    const open = label === null ? null : () => this.options.editInsert(this.view, from);
    this.#replace(from, to, new Card(values, open));
  }

  /**
   * Show the photo of an insert. Return false if the photo isn't known, so that the insert is shown as a card.
   *
   * @param {number} from
   * @param {number} to
   * @param {Record<string, string>} attributes
   */
  #showPhoto(from, to, { photo = "", caption = "", alt = "", width = "", align = "" }) {
    const target = photo.startsWith("photo:") ? this.options.targets.get(photo) : undefined;
    if (!target?.picture) return false;
    const layout = [width, align].filter((name) => LAYOUTS.has(name)).join(" ");
    const { picture } = target;
    this.#showFigure(from, to, { source: photo, alt: alt || target.alt, caption, picture, layout, isInline: false });
    return true;
  }

  /** @param {string} value */
  #titleOf(value) {
    return /^(node|photo):[^,]+$/.test(value) ? (this.options.targets.get(value)?.title ?? value) : value;
  }

  /** @param {SyntaxNodeRef} node */
  #decorateListItem({ from, to }) {
    let isFirst = from >= this.view.viewport.from;
    this.#lines(from, to, "", (start) => {
      this.#lists.set(start, { depth: this.#depth, isFirst });
      isFirst = false;
      const { text } = this.state.doc.lineAt(start);
      const indent = text.length - text.trimStart().length;
      if (indent && indent < text.length && !this.#isTouched(start, start + indent - 1)) this.#hideOnce(start, indent);
    });
  }

  /**
   * Hide the indentation of a line. The line can belong to several nested lists.
   *
   * @param {number} start
   * @param {number} indent
   */
  #hideOnce(start, indent) {
    const last = this.#ranges.findLast(({ from, value }) => from === start && value === hidden);
    if (!last) this.#hide(start, start + indent);
  }

  /** @param {SyntaxNodeRef} node */
  #decorateListMark({ from, to, node }) {
    const end = Math.min(this.#afterSpaces(to), to + 1);
    if (node.parent?.parent?.name === "OrderedList") {
      this.#ranges.push(mark("md-marker").range(from, end));
      return;
    }
    if (this.#isTouched(from, to)) return;
    if (node.nextSibling?.name === "Task") this.#hide(from, end);
    else this.#replace(from, end, new Glyph({ className: "md-marker", text: "•" }));
  }

  /**
   * Show the rows of a table as a grid. All rows have the same columns.
   *
   * @param {SyntaxNodeRef} ref
   * @param {number} start
   * @param {number} end
   */
  #decorateTable({ from, to, node }, start, end) {
    const { doc } = this.state;
    const header = node.firstChild;
    if (!header || from !== doc.lineAt(from).from) {
      this.#lines(from, to, "md-line-html");
      return;
    }
    const widths = header.getChildren("TableCell").map(() => 4);
    // Words of up to ten characters, and the padding around them, fit on one line.
    const words = widths.map(() => 4);
    const rows = [];
    for (let row = node.firstChild; row; row = row.nextSibling) {
      rows.push(row);
      row.getChildren("TableCell").forEach(({ from, to }, index) => {
        if (index >= widths.length) return;
        widths[index] = Math.max(widths[index], Math.min(60, to - from));
        const longest = Math.max(
          ...doc
            .sliceString(from, to)
            .split(/\s+/)
            .map(({ length }) => length),
        );
        words[index] = Math.max(words[index], Math.min(10, longest) + 3);
      });
    }
    const columns = widths.map((width) => `minmax(0, ${width}fr)`).join(" ");
    for (const row of rows) {
      if (row.to < start || row.from > end) continue;
      const line = doc.lineAt(row.from);
      const isTouched = this.#isTouched(line.from, line.to);
      if (row.name === "TableDelimiter") {
        this.#ranges.push(lineClass(isTouched ? "md-row-source" : "md-row-delimiter").range(line.from));
        if (!isTouched) this.#hide(line.from, line.to);
        continue;
      }
      const name = row.name === "TableHeader" ? "md-row md-row-header" : "md-row";
      const attributes = { class: name, style: `--columns: ${columns}` };
      this.#ranges.push(Decoration.line({ attributes }).range(line.from));
      this.#decorateCells(row, isTouched);
    }
  }

  /**
   * @param {SyntaxNode} row
   * @param {boolean} isTouched
   */
  #decorateCells(row, isTouched) {
    for (const [index, { from, to }] of cellsOf(this.state, row).entries()) {
      // The first cell includes the indentation.
      const start = index ? from : this.state.doc.lineAt(from).from;
      this.#ranges.push(cell.range(start, to));
      if (isTouched) continue;
      const text = textOf(this.state, { from: start, to });
      this.#hide(start, text.from);
      this.#hide(text.to, to);
    }
  }

  /**
   * Draw a line beside the text in containers.
   *
   * @param {Tree} tree
   */
  #decorateContainers(tree) {
    /** @type {number[]} */
    const open = [];
    for (let node = tree.topNode.firstChild; node && node.from <= this.view.viewport.to; node = node.nextSibling) {
      if (node.name !== "Directive") continue;
      const spelled = this.state.sliceDoc(node.from, node.to);
      if (!spelled.startsWith(":::")) continue;
      if (!/^:{3,}\s*$/.test(spelled)) {
        open.push(node.from);
        continue;
      }
      const from = open.pop();
      if (from === undefined || open.length || node.to < this.view.viewport.from) continue;
      this.#lines(from, node.to, "md-line-container");
    }
  }
}

/**
 * Return the extension for the live view.
 *
 * @param {Options} options
 */
export function liveView(options) {
  /** @param {EditorView} view */
  const decorate = (view) => new Decorator(view, options).decorate();

  return Prec.low(
    ViewPlugin.fromClass(
      class {
        #isPressed = false;
        #tree;

        /** @param {EditorView} view */
        constructor(view) {
          this.view = view;
          this.#tree = syntaxTree(view.state);
          this.decorations = decorate(view);
        }

        /** @param {ViewUpdate} update */
        update(update) {
          const { docChanged, viewportChanged, selectionSet, focusChanged, transactions, state, view, changes } =
            update;
          const tree = syntaxTree(state);
          const isRefreshed = transactions.some(({ effects }) => effects.some((effect) => effect.is(refresh)));
          const isChanged = docChanged || viewportChanged || selectionSet || focusChanged || tree !== this.#tree;
          if (!isChanged && !isRefreshed) return;
          // While text is composed or selected with the mouse, nothing may move.
          if ((view.composing || (this.#isPressed && !docChanged)) && !viewportChanged) {
            this.decorations = this.decorations.map(changes);
            return;
          }
          this.#tree = tree;
          this.decorations = decorate(view);
        }

        press() {
          this.#isPressed = true;
          const release = () => {
            this.#isPressed = false;
            this.view.dispatch({ effects: refresh.of(null) });
          };
          window.addEventListener("mouseup", () => setTimeout(release), { once: true });
        }

        refreshSoon() {
          setTimeout(() => this.view.dispatch({ effects: refresh.of(null) }));
        }
      },
      {
        decorations: (plugin) => plugin.decorations,
        eventHandlers: {
          mousedown() {
            this.press();
          },
          compositionend() {
            this.refreshSoon();
          },
        },
      },
    ),
  );
}
