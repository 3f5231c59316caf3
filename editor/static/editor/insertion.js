// @ts-check
// Inserts blocks into a node's text, at the cursor in the Markdown editor, or in the textarea if there is no editor.
import { find } from "./dom.js";

/**
 * A string is inserted after the selection. A function makes the block from the selection, and the block replaces the
 * selection. `select` is the range of the block to select. Without `select`, the cursor is placed below the block.
 *
 * @typedef {{ block: string, select?: [number, number] }} Made
 * @typedef {string | ((selected: string) => Made)} Block
 */

/** The textarea that the form sends. */
export const textarea = find(document, "#node_form textarea[name=text]", HTMLTextAreaElement);

/** @type {any} The CodeMirror instance, while the text is Markdown. */
let codemirror = null;

/** @param {any} current The text's editor, or null if the textarea is shown. */
export function setEditor(current) {
  codemirror = current;
}

/**
 * Return the line breaks that are needed to begin a new paragraph after this text.
 *
 * @param {string} before
 */
const gapAfter = (before) => (!before || before.endsWith("\n\n") ? "" : before.endsWith("\n") ? "\n" : "\n\n");

/**
 * @param {any} cm
 * @param {Block} block
 */
function insertInEditor(cm, block) {
  if (typeof block === "string") cm.setCursor(cm.getCursor("to"));
  const made = typeof block === "string" ? { block } : block(cm.getSelection());
  const before = cm.getRange({ line: 0, ch: 0 }, cm.getCursor("from"));
  const gap = gapAfter(before);
  const after = cm.getRange(cm.getCursor("to"), { line: cm.lastLine() + 1, ch: 0 });
  const end = after.startsWith("\n\n") ? "" : after.startsWith("\n") ? "\n" : "\n\n";
  cm.replaceSelection(`${gap}${made.block}${end}`);
  const start = before.length + gap.length;
  if (made.select) cm.setSelection(...made.select.map((at) => cm.posFromIndex(start + at)));
  cm.focus();
}

/**
 * @param {HTMLTextAreaElement} area
 * @param {Block} block
 */
function insertInTextarea(area, block) {
  const selected = area.value.slice(area.selectionStart, area.selectionEnd);
  const made = typeof block === "string" ? block : block(selected).block;
  const before = area.value.slice(0, area.selectionStart);
  const after = area.value.slice(area.selectionEnd);
  const own = `${gapAfter(before)}${made}\n\n`;
  area.value = before + own + after.replace(/^\n+/, "");
  area.selectionStart = area.selectionEnd = before.length + own.length;
  area.dispatchEvent(new Event("input", { bubbles: true }));
  area.focus();
}

/**
 * Insert a block between the paragraphs around the cursor.
 *
 * @param {Block} block
 */
export function insertBlock(block) {
  if (codemirror) insertInEditor(codemirror, block);
  else if (textarea) insertInTextarea(textarea, block);
}
