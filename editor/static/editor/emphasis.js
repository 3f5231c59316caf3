// @ts-check
// Bold and italic in Markdown.
//
// Markdown recognizes emphasis marks only within a paragraph, and not between a letter and punctuation. For example,
// marks around 「“你好。”」 would be shown as text. Therefore, each line gets its own marks, which exclude surrounding
// spaces and punctuation, and the syntax for lists, quotations and headings. If a symbol, a link or code is next to a
// letter, a hair space is inserted between them.

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

/**
 * Toggle bold or italic for the selection. If nothing is selected, `toggle` inserts the marks around the cursor.
 *
 * @param {any} editor EasyMDE
 * @param {"bold" | "italic"} name
 * @param {Mark} mark
 * @param {(editor: any) => void} toggle EasyMDE's own function.
 */
export function emphasize(editor, name, mark, toggle) {
  const { codemirror } = editor;
  const [from, to] = [codemirror.getCursor("from"), codemirror.getCursor("to")];
  /** @type {string} */
  const chosen = codemirror.getSelection();
  const before = codemirror.getLine(from.line).slice(0, from.ch);
  const after = codemirror.getLine(to.line).slice(to.ch);
  /** @param {number} ch @param {string} words */
  const select = (ch, words) =>
    codemirror.setSelection({ line: from.line, ch }, { line: from.line, ch: ch + words.length });
  /** @param {string} stars */
  const isMarked = (stars) => (mark === "*" ? stars.length % 2 === 1 : stars.length > 1);

  if (chosen && isMarked(before.match(/\**$/)[0]) && isMarked(after.match(/^\**/)[0])) {
    const begin = from.ch - mark.length - (before.at(-mark.length - 1) === HAIR ? 1 : 0);
    const end = to.ch + mark.length + (after.charAt(mark.length) === HAIR ? 1 : 0);
    codemirror.replaceRange(chosen, { line: from.line, ch: begin }, { line: to.line, ch: end });
    select(begin, chosen);
    codemirror.focus();
    return;
  }
  if (!chosen || editor.getState()[name]) {
    toggle(editor);
    return;
  }
  const lines = chosen.split("\n");
  const parts = lines.map((line, number) =>
    split(line, mark, number ? "" : lastOf(before), number < lines.length - 1 ? "" : firstOf(after)),
  );
  /** @param {string} sign */
  const joined = (sign) => parts.map(([start, words, end]) => start + (words && sign + words + sign) + end).join("\n");
  const isEmphasized = joined(mark) === chosen;
  codemirror.replaceSelection(joined(isEmphasized ? "" : mark), "around");
  const [start, words] = parts[0];
  if (!isEmphasized && parts.length === 1 && words) select(from.ch + start.length + mark.length, words);
  codemirror.focus();
}
