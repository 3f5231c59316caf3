// @ts-check
// Bold and italic in Markdown.
//
// Markdown recognizes emphasis marks only within a paragraph, and not between a letter and punctuation. For example,
// marks around 「“你好。”」 would be shown as text. Therefore, each line gets its own marks, which exclude surrounding
// spaces and punctuation, and the syntax for lists, quotations and headings. If a symbol, a link or code is next to a
// letter, a hair space is inserted between them.

import { syntaxTree } from "../vendor/codemirror/codemirror.js";

/** @import { EditorState } from "@codemirror/state" */
/** @import { SyntaxNode } from "@lezer/common" */
/** @typedef {import("./text_editor.js").TextEditor} TextEditor */
/** @typedef {"*" | "**"} Mark */

const SIGNS = /^(\s*(?:(?:>|[-+*]|\d+[.)]|#{1,6})\s+)*)/;
const UNITS = /`+[^`]*`+|!?\[[^\]]*\]\([^)]*\)|<\S+?>|\$[^$\s]+\$|\\.|./gu;
const HAIR = "\u200a";

/** @param {string} text */
const firstOf = (text) => [...text][0] ?? "";

/** @param {string} text */
const lastOf = (text) => [...text].pop() ?? "";

/**
 * Return whether Markdown recognizes a mark between these two characters.
 *
 * @param {string} outside
 * @param {string} inside
 */
const isFree = (outside, inside) => !/^[\p{P}\p{S}]/u.test(inside) || !outside || /^[\s\p{P}\p{S}]/u.test(outside);

/**
 * @param {string} outside
 * @param {string} inside
 */
const pad = (outside, inside) => (isFree(outside, inside) ? "" : HAIR);

/**
 * Return a line without its marks.
 *
 * @param {string} line
 * @param {Mark} mark
 */
function withoutMarks(line, mark) {
  const marks = mark === "*" ? /`[^`]*`|(?<![*\\])\*(?!\*)/g : /`[^`]*`|(?<!\\)\*\*/g;
  return line.replace(marks, (found) => (found.startsWith("`") ? found : ""));
}

/**
 * Split a line into its start, the words to emphasize, and its end. If there are no words, the start is the whole line.
 *
 * @param {string} line
 * @param {Mark} mark
 * @param {string} before The character before the line, if the selection begins within a line.
 * @param {string} after
 * @returns {[string, string, string]}
 */
export function split(line, mark, before, after) {
  const signs = before ? "" : (line.match(SIGNS)?.[0] ?? "");
  const units = withoutMarks(line.slice(signs.length), mark).match(UNITS) ?? [];
  /** @param {string} unit @param {string} outside */
  const isOutside = (unit, outside) => /^\s$/.test(unit) || (/^\p{P}$/u.test(unit) && !isFree(outside, unit));
  let [from, to] = [0, units.length];
  while (from < to && isOutside(units[from], units[from - 1] || before)) from += 1;
  while (from < to && isOutside(units[to - 1], units[to] || after)) to -= 1;
  // The line contains only punctuation.
  if (from === to) [from, to] = [0, units.length];
  const words = units.slice(from, to).join("");
  if (!words.trim()) return [line, "", ""];
  const start = signs + units.slice(0, from).join("");
  const end = units.slice(to).join("");
  return [start + pad(lastOf(start || before), words), words, pad(firstOf(end || after), lastOf(words)) + end];
}

/** The names of @lezer/markdown for emphasized text. */
const NODES = { "*": "Emphasis", "**": "StrongEmphasis" };

/**
 * Toggle bold or italic for the selection. If nothing is selected, insert the marks around the cursor, or remove the
 * marks around it. At the end of emphasized words, move the cursor behind the closing mark.
 *
 * @param {TextEditor} editor
 * @param {Mark} mark
 */
export function emphasize(editor, mark) {
  const { state } = editor.view;
  const { from, to } = editor.selection;
  const chosen = editor.slice({ from, to });
  const before = state.sliceDoc(state.doc.lineAt(from).from, from);
  const after = state.sliceDoc(to, state.doc.lineAt(to).to);
  /** @param {string} stars */
  const isMarked = (stars) => (mark === "*" ? stars.length % 2 === 1 : stars.length > 1);
  const options = { event: "input.format" };

  const isBeforeMark = isMarked(after.match(/^\**/)?.[0] ?? "");
  if (isBeforeMark && isMarked(before.match(/\**$/)?.[0] ?? "")) {
    const begin = from - mark.length - (before.at(-mark.length - 1) === HAIR ? 1 : 0);
    const end = to + mark.length + (after.charAt(mark.length) === HAIR ? 1 : 0);
    editor.replace({ from: begin, to: end }, chosen, { ...options, select: { from: 0, to: chosen.length } });
    return;
  }
  const words = before.trimEnd();
  if (!chosen && isBeforeMark && isMarked(/(\**)[^*]+$/.exec(words)?.[1] ?? "") && !isOpeningMark(state, to)) {
    // Continue after the emphasized words. Markdown doesn't allow spaces before the closing mark.
    const spaces = before.slice(words.length);
    editor.replace({ from: from - spaces.length, to: to + mark.length }, mark + spaces, options);
    return;
  }
  const marked = enclosing(editor, NODES[mark]);
  if (marked) {
    const inside = { from: marked.from + mark.length, to: marked.to - mark.length };
    const select = { from: from - inside.from, to: to - inside.from };
    editor.replace(marked, editor.slice(inside), { ...options, select });
    return;
  }
  if (!chosen) {
    editor.replace({ from, to }, mark + mark, { ...options, select: { from: mark.length, to: mark.length } });
    return;
  }
  const lines = chosen.split("\n");
  const parts = lines.map((line, number) =>
    split(line, mark, number ? "" : lastOf(before), number < lines.length - 1 ? "" : firstOf(after)),
  );
  /** @param {string} sign */
  const joined = (sign) => parts.map(([start, words, end]) => start + (words && sign + words + sign) + end).join("\n");
  const isEmphasized = joined(mark) === chosen;
  const text = joined(isEmphasized ? "" : mark);
  const [start, inner] = parts[0];
  const first = start.length + mark.length;
  const select =
    !isEmphasized && parts.length === 1 && inner
      ? { from: first, to: first + inner.length }
      : { from: 0, to: text.length };
  editor.replace({ from, to }, text, { ...options, select });
}

/**
 * Return whether emphasized text begins at a position.
 *
 * @param {EditorState} state
 * @param {number} position
 */
function isOpeningMark(state, position) {
  const { name, from, parent } = syntaxTree(state).resolveInner(position, 1);
  return name === "EmphasisMark" && from === parent?.from;
}

/**
 * Return the range of the emphasized text around the selection, including its marks.
 *
 * @param {TextEditor} editor
 * @param {string} name
 */
function enclosing(editor, name) {
  const { from, to } = editor.selection;
  /** @type {SyntaxNode | null} */
  let node = syntaxTree(editor.view.state).resolveInner(from, from === to ? 0 : 1);
  while (node && !(node.name === name && node.from < from && to < node.to)) node = node.parent;
  return node;
}
