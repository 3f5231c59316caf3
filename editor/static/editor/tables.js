// @ts-check
// Tables in Markdown: the cells of a row, and the keys that move between cells.
import { syntaxTree } from "../vendor/codemirror/codemirror.js";

/** @import { EditorState } from "@codemirror/state" */
/** @import { SyntaxNode } from "@lezer/common" */
/** @typedef {import("./text_editor.js").Range} Range */
/** @typedef {import("./text_editor.js").TextEditor} TextEditor */

/**
 * Return the ranges of a row's cells. A cell begins with the pipe before it, and the last cell includes the last pipe.
 *
 * @param {EditorState} state
 * @param {SyntaxNode} row
 * @returns {Range[]}
 */
export function cellsOf({ doc }, row) {
  const line = doc.lineAt(row.from);
  const text = line.text.slice(row.from - line.from);
  const pipes = row.getChildren("TableDelimiter").map(({ from }) => from);
  const hasTrailing = pipes.length > 1 && pipes.at(-1) === row.from + text.trimEnd().length - 1;
  const inner = pipes.slice(text.startsWith("|") ? 1 : 0, hasTrailing ? -1 : undefined);
  const starts = [row.from, ...inner];
  return starts.map((from, index) => ({ from, to: starts[index + 1] ?? line.to })).filter(({ from, to }) => from < to);
}

/**
 * Return the range of a cell's text, without the pipes and spaces around it. In an empty cell, the range is empty and
 * begins after the first space.
 *
 * @param {EditorState} state
 * @param {Range} cell
 * @returns {Range}
 */
export function textOf(state, { from, to }) {
  const [, before, words] = /^(\s*\|?[ \t]*)(.*?)[ \t]*\|?[ \t]*$/s.exec(state.sliceDoc(from, to)) ?? [];
  const start = from + (words ? before.length : Math.min(before.length, before.indexOf("|") + 2));
  return { from: start, to: start + words.length };
}

/**
 * Return the table at the caret.
 *
 * @param {EditorState} state
 */
function tableAtCaret(state) {
  const { head } = state.selection.main;
  for (const side of /** @type {const} */ ([-1, 1])) {
    /** @type {SyntaxNode | null} */
    let node = syntaxTree(state).resolveInner(head, side);
    while (node && node.name !== "Table") node = node.parent;
    if (node) return node;
  }
  return null;
}

/**
 * Select the text of the next cell (1) or of the previous cell (-1). After the last cell, add a row.
 *
 * @param {TextEditor} editor
 * @param {1 | -1} direction
 * @returns {boolean} Whether the caret is in a table.
 */
export function moveCell(editor, direction) {
  const { state } = editor.view;
  const table = tableAtCaret(state);
  if (!table) return false;
  const rows = [...table.getChildren("TableHeader"), ...table.getChildren("TableRow")];
  const cells = rows.flatMap((row) => cellsOf(state, row));
  const { head } = state.selection.main;
  // Right before a pipe, the caret is in the cell that ends there, except at the beginning of a row.
  const isAtStart = rows.some(({ from }) => from === head);
  const current = cells.findLastIndex(({ from }) => (isAtStart ? from <= head : from < head));
  const next = cells[current + direction];
  if (next) editor.select(textOf(state, next));
  else if (direction > 0) addRow(editor, table, rows[0]);
  return true;
}

/**
 * Add an empty row to the end of a table, and place the caret in its first cell.
 *
 * @param {TextEditor} editor
 * @param {SyntaxNode} table
 * @param {SyntaxNode} header
 */
function addRow(editor, table, header) {
  const { state } = editor.view;
  const first = state.doc.lineAt(table.from);
  // The table can be in a quotation or in a list item.
  const indent = state.sliceDoc(first.from, table.from).replace(/[^>\s]/g, " ");
  const row = `\n${indent}|${"  |".repeat(cellsOf(state, header).length)}`;
  const end = state.doc.lineAt(table.to).to;
  const caret = indent.length + 3;
  editor.replace({ from: end, to: end }, row, { select: { from: caret, to: caret } });
}
