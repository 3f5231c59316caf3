// @ts-check
// The keys that begin and join paragraphs in the live view. Markdown separates paragraphs with a blank line, and a single
// line break is a line break for readers.
import { syntaxTree } from "../vendor/codemirror/codemirror.js";

/** @import { EditorState, StateCommand } from "@codemirror/state" */
/** @import { KeyBinding } from "@codemirror/view" */
/** @import { SyntaxNode } from "@lezer/common" */

const WORDS = /^(Paragraph|FootnoteDefinition|ATXHeading\d|SetextHeading\d)$/;
// The first line of a table or formula that is being typed.
const UNFINISHED = /^\s*(\||\$\$)/;

/**
 * Return the block of the text at a position, such as a paragraph, a whole list or a whole quotation.
 *
 * @param {EditorState} state
 * @param {number} position
 * @param {-1 | 1} side Whether the block includes the character before (-1) or after (1) the position.
 */
function blockAt(state, position, side) {
  /** @type {SyntaxNode} */
  let node = syntaxTree(state).resolveInner(position, side);
  while (node.parent?.parent) node = node.parent;
  return node;
}

/**
 * Return whether a position is in a paragraph or heading that isn't part of a list or quotation.
 *
 * @param {EditorState} state
 * @param {number} position
 * @param {-1 | 1} side
 */
const isInWords = (state, position, side) =>
  WORDS.test(blockAt(state, position, side).name) && !UNFINISHED.test(state.doc.lineAt(position).text);

/**
 * Begin a paragraph.
 *
 * @type {StateCommand}
 */
const beginParagraph = ({ state, dispatch }) => {
  const { from, to } = state.selection.main;
  const line = state.doc.lineAt(from);
  const block = blockAt(state, from, -1);
  const isTableEnd = block.name === "Table" && block.to === to;
  if (!line.text.trim() || !(isTableEnd || isInWords(state, from, from > line.from ? -1 : 1))) return false;
  const before = state.sliceDoc(line.from, from);
  const after = state.sliceDoc(to, state.doc.lineAt(to).to);
  const start = from - (before.length - before.trimEnd().length);
  const changes = { from: start, to: to + (after.length - after.trimStart().length), insert: "\n\n" };
  dispatch(state.update({ changes, selection: { anchor: start + 2 }, userEvent: "input", scrollIntoView: true }));
  return true;
};

/**
 * Join the paragraph at the caret and the paragraph above it, if only a blank line separates them.
 *
 * @type {StateCommand}
 */
const joinParagraphs = ({ state, dispatch }) => {
  const { head, empty } = state.selection.main;
  const line = state.doc.lineAt(head);
  if (!empty || head !== line.from || line.number < 3) return false;
  const isWords = !line.text || isInWords(state, head, 1);
  const above = state.doc.line(line.number - 2);
  if (state.doc.line(line.number - 1).length || !isWords || !above.length || !isInWords(state, above.to, -1)) {
    return false;
  }
  const changes = { from: above.to, to: head };
  dispatch(
    state.update({ changes, selection: { anchor: above.to }, userEvent: "delete.backward", scrollIntoView: true }),
  );
  return true;
};

/** @type {KeyBinding[]} Shift-Enter adds a line break, as CodeMirror's own key does. */
export const paragraphKeys = [
  { key: "Enter", run: beginParagraph },
  { key: "Backspace", run: joinParagraphs },
];
