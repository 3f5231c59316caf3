// @ts-check
// Formats lines and blocks of Markdown: headings, quotations, lists and code.
import { syntaxTree } from "../vendor/codemirror/codemirror.js";

/** @import { SyntaxNode } from "@lezer/common" */
/** @typedef {import("./text_editor.js").TextEditor} TextEditor */

const MARKER = /^(\s*)(?:[-+*]|\d+[.)])\s+/;

/**
 * Change each line of the selection, and keep the selection on the same words.
 *
 * @param {TextEditor} editor
 * @param {(lines: string[]) => string[]} change
 */
function changeLines({ view }, change) {
  const { doc, selection } = view.state;
  const first = doc.lineAt(selection.main.from);
  const last = doc.lineAt(selection.main.to);
  const lines = doc.slice(first.from, last.to).toString().split("\n");
  let from = first.from;
  const changes = change(lines).flatMap((line, index) => {
    const old = lines[index];
    const start = from;
    from += old.length + 1;
    // Only the beginnings of the lines differ.
    let end = 0;
    while (end < Math.min(old.length, line.length) && old.at(-1 - end) === line.at(-1 - end)) end += 1;
    const [removed, added] = [old.length - end, line.length - end];
    return removed || added ? [{ from: start, to: start + removed, insert: line.slice(0, added) }] : [];
  });
  const changeSet = view.state.changes(changes);
  view.dispatch({
    changes: changeSet,
    selection: selection.map(changeSet, 1),
    userEvent: "input.format",
    scrollIntoView: true,
  });
}

/**
 * Apply `add` to the lines, or `remove` if all lines that contain text already match.
 *
 * @param {string[]} lines
 * @param {RegExp} mark
 * @param {(line: string, number: number) => string} add
 */
function toggle(lines, mark, add) {
  const isText = (/** @type {string} */ line) => lines.length === 1 || line.trim() !== "";
  const isMarked = lines.filter(isText).every((line) => mark.test(line));
  let number = 0;
  return lines.map((line) => {
    if (!isText(line)) return line;
    number += 1;
    return isMarked ? line.replace(mark, "$1") : add(line, number);
  });
}

/** @param {TextEditor} editor */
export function toggleHeading(editor, level = 2) {
  const mark = "#".repeat(level);
  changeLines(editor, (lines) =>
    toggle(lines, new RegExp(`^()${mark}[ \\t]+`), (line) => `${mark} ${line.replace(/^\s{0,3}(#{1,6}[ \t]+)?/, "")}`),
  );
}

/** @param {TextEditor} editor */
export const toggleList = (editor) =>
  changeLines(editor, (lines) =>
    toggle(lines, /^(\s*)[-+*]\s+/, (line) => line.replace(MARKER, "$1").replace(/^(\s*)/, "$1- ")),
  );

/** @param {TextEditor} editor */
export const toggleNumberedList = (editor) =>
  changeLines(editor, (lines) =>
    toggle(lines, /^(\s*)\d+[.)]\s+/, (line, number) => line.replace(MARKER, "$1").replace(/^(\s*)/, `$1${number}. `)),
  );

const indentOf = (/** @type {string} */ line) => line.length - line.trimStart().length;

/**
 * Nest the list item at the caret in the item above it (1), or move it one level up (-1). The items in it move along.
 *
 * @param {TextEditor} editor
 * @param {1 | -1} direction
 * @returns {boolean} Whether the key was for a list item. An item of the first level doesn't move up.
 */
export function moveItem({ view }, direction) {
  const { doc, selection } = view.state;
  const line = doc.lineAt(selection.main.head);
  const indent = indentOf(line.text);
  if (!selection.main.empty || !MARKER.test(line.text) || (direction < 0 && !indent)) return false;
  /** @type {string[]} */
  const passed = [];
  let above = line.number - 1;
  const limit = direction > 0 ? indent : indent - 1;
  while (above > 0 && !(MARKER.test(doc.line(above).text) && indentOf(doc.line(above).text) <= limit)) {
    const { text } = doc.line(above);
    // The list begins below this paragraph.
    if (text.trim() && !indentOf(text)) return true;
    passed.push(text);
    above -= 1;
  }
  if (!above) return true;
  const { text } = doc.line(above);
  const target = direction > 0 ? (MARKER.exec(text)?.[0].length ?? 0) : indentOf(text);
  const shift = target - indent;
  const changes = [];
  for (let number = line.number; shift && number <= doc.lines; number += 1) {
    const { from, text: moved } = doc.line(number);
    if (number > line.number && indentOf(moved) <= indent) break;
    changes.push(shift > 0 ? { from, insert: " ".repeat(shift) } : { from, to: from - shift });
  }
  const [digits] = /\d+(?=[.)])/.exec(line.text.slice(indent, indent + 10)) ?? [];
  if (shift && digits && /^\d/.test(line.text.trimStart())) {
    // Markdown doesn't begin a nested list with another number than 1.
    const before = passed.filter((other) => indentOf(other) === target && MARKER.test(other)).length;
    const insert = String(direction > 0 ? before + 1 : (Number.parseInt(text, 10) || 0) + 1);
    changes.push({ from: line.from + indent, to: line.from + indent + digits.length, insert });
  }
  view.dispatch({ changes, userEvent: "input.format", scrollIntoView: true });
  return true;
}

/** @param {TextEditor} editor */
export const toggleQuote = (editor) =>
  changeLines(editor, (lines) => {
    const isQuoted = lines.every((line) => /^\s{0,3}>/.test(line));
    return lines.map((line) => (isQuoted ? line.replace(/^\s{0,3}> ?/, "") : `> ${line}`.trimEnd() || ">"));
  });

/**
 * Toggle code: a code block for whole lines, and inline code for a part of a line.
 *
 * @param {TextEditor} editor
 */
export function toggleCode(editor) {
  const { state } = editor.view;
  const range = editor.selection;
  const chosen = editor.slice(range);
  /** @type {SyntaxNode | null} */
  let node = syntaxTree(state).resolveInner(range.from, 0);
  while (node && node.name !== "InlineCode") node = node.parent;
  if (node && range.to <= node.to) {
    const [open, close] = [node.firstChild, node.lastChild];
    const inside = { from: open?.to ?? node.from, to: close?.from ?? node.to };
    const select = { from: Math.max(0, range.from - inside.from), to: Math.min(range.to, inside.to) - inside.from };
    editor.replace(node, editor.slice(inside), { select, event: "input.format" });
    return;
  }
  const line = state.doc.lineAt(range.from);
  const isWholeLine = range.from === line.from && range.to === line.to;
  if (chosen.includes("\n") || isWholeLine) {
    const start = line.from;
    const end = state.doc.lineAt(range.to).to;
    const code = editor.slice({ from: start, to: end });
    const fence = "`".repeat(Math.max(3, ...[...code.matchAll(/`+/g)].map(([ticks]) => ticks.length + 1)));
    const select = { from: fence.length + 1, to: fence.length + 1 + code.length };
    editor.replace({ from: start, to: end }, `${fence}\n${code}\n${fence}`, { select, event: "input.format" });
    return;
  }
  editor.replace(range, `\`${chosen}\``, { select: { from: 1, to: 1 + chosen.length }, event: "input.format" });
}
