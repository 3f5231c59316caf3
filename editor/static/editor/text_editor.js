// @ts-check
// The Markdown editor of a textarea. Other scripts read and change its text with the methods of TextEditor.
import {
  Annotation,
  EditorSelection,
  EditorView,
  isolateHistory,
  StateEffect,
  StateField,
  syntaxTree,
} from "../vendor/codemirror/codemirror.js";

/** @import { StateEffectType } from "@codemirror/state" */
/** @import { SyntaxNode } from "@lezer/common" */

/**
 * A range of the text, in UTF-16 code units, like the indexes of JavaScript's strings.
 *
 * @typedef {{ from: number, to: number }} Range
 */

/** Marks changes that come from the textarea, so that they are not written back. */
export const fromTextarea = Annotation.define();

/** @type {StateEffectType<{ id: number, range: Range | null }>} */
const setTracked = StateEffect.define();
/** The tracked ranges by id. They move with the text around them. */
export const trackedRanges = StateField.define({
  create: () => /** @type {Map<number, Range>} */ (new Map()),
  update(ranges, { changes, effects, docChanged }) {
    const isChanged = (docChanged && ranges.size) || effects.some((effect) => effect.is(setTracked));
    if (!isChanged) return ranges;
    const moved = new Map();
    for (const [id, { from, to }] of ranges) {
      // Text that is inserted at an end of the range stays outside.
      const start = changes.mapPos(from, from === to ? -1 : 1);
      moved.set(id, { from: start, to: Math.max(start, changes.mapPos(to, -1)) });
    }
    for (const effect of effects) {
      if (!effect.is(setTracked)) continue;
      if (effect.value.range) moved.set(effect.value.id, effect.value.range);
      else moved.delete(effect.value.id);
    }
    return moved;
  },
});
let lastId = 0;

export class TextEditor {
  /** @param {EditorView} view */
  constructor(view) {
    /** CodeMirror's view, for everything that the methods below don't offer. */
    this.view = view;
  }

  /** The whole text, with "\n" between the lines. */
  get text() {
    return this.view.state.doc.toString();
  }

  /** @returns {Range} The selection. If nothing is selected, `from` and `to` are the position of the caret. */
  get selection() {
    const { from, to } = this.view.state.selection.main;
    return { from, to };
  }

  /** @param {Range} range */
  slice({ from, to }) {
    return this.view.state.sliceDoc(from, to);
  }

  /** @param {Range} range */
  select({ from, to }) {
    this.view.dispatch({ selection: EditorSelection.range(from, to), scrollIntoView: true });
  }

  /**
   * Replace a range in a single undo step. To insert text, pass an empty range.
   *
   * @param {Range} range
   * @param {string} text
   * @param {{ select?: Range, event?: string }} [options] `select` is a range of the new text, such as { from: 0, to: 3 }
   *   for its first three characters. Without `select`, the caret is placed after the new text. `event` is a user event
   *   of CodeMirror, such as "input.paste".
   */
  replace({ from, to }, text, { select, event = "input" } = {}) {
    const insert = this.view.state.toText(text);
    const { from: start, to: end } = select ?? { from: insert.length, to: insert.length };
    this.view.dispatch({
      changes: { from, to, insert },
      selection: EditorSelection.range(from + start, from + end),
      annotations: isolateHistory.of("full"),
      userEvent: event,
      scrollIntoView: true,
    });
  }

  /**
   * Follow a range while the text around it changes, for example until the server has responded.
   *
   * @param {Range} range
   * @returns {{ find: () => Range, end: () => void }} `find` returns where the range is now. Call `end` afterwards.
   */
  track(range) {
    const id = ++lastId;
    this.view.dispatch({ effects: setTracked.of({ id, range }) });
    return {
      find: () => this.view.state.field(trackedRanges).get(id) ?? range,
      end: () => this.view.dispatch({ effects: setTracked.of({ id, range: null }) }),
    };
  }

  /**
   * Return the names of the syntax around a position, such as "Link", "InlineCode" and "FencedCode".
   *
   * The names are the names of @lezer/markdown.
   *
   * @param {number} position
   * @param {-1 | 0 | 1} [side] Whether the syntax must include the character before (-1) or after (1) the position.
   * @returns {Set<string>}
   */
  syntaxAt(position, side = -1) {
    const names = new Set();
    /** @type {SyntaxNode | null} */
    let node = syntaxTree(this.view.state).resolveInner(position, side);
    for (; node; node = node.parent) names.add(node.name);
    return names;
  }

  focus() {
    this.view.focus();
  }
}
