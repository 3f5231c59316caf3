// @ts-check
// The node's text for other scripts: its textarea, its Markdown editor, and inserting blocks at the cursor.
import { find } from "./dom.js";

/** @typedef {import("./text_editor.js").TextEditor} TextEditor */

/**
 * A string is inserted after the selection. A function makes the block from the selection, and the block replaces the
 * selection. `select` is the range of the block to select. Without `select`, the cursor is placed below the block.
 *
 * @typedef {{ block: string, select?: [number, number] }} Made
 * @typedef {string | ((selected: string) => Made)} Block
 */

/** The textarea that the form sends. */
export const textarea = find(document, "#node_form textarea[name=text]", HTMLTextAreaElement);

/** @type {WeakMap<HTMLTextAreaElement, TextEditor>} */
const editors = new WeakMap();

/**
 * Return the Markdown editor of a textarea, or null while the textarea itself is shown.
 *
 * An editor can be created and removed when the format of the text changes, so call this function each time.
 *
 * @param {HTMLTextAreaElement | null} area
 */
export const editorOf = (area) => (area && editors.get(area)) ?? null;

/**
 * @param {HTMLTextAreaElement} area
 * @param {TextEditor | null} editor
 */
export function setEditor(area, editor) {
  if (editor) editors.set(area, editor);
  else editors.delete(area);
}

/**
 * Return the line breaks that are needed to begin a new paragraph after this text.
 *
 * @param {string} before
 */
export const gapAfter = (before) => (!before || before.endsWith("\n\n") ? "" : before.endsWith("\n") ? "\n" : "\n\n");

/**
 * @param {TextEditor} editor
 * @param {Block} block
 */
function insertInEditor(editor, block) {
  const { from, to } = editor.selection;
  const made = typeof block === "string" ? { block } : block(editor.slice({ from, to }));
  const start = typeof block === "string" ? to : from;
  const gap = gapAfter(editor.text.slice(0, start));
  const after = editor.text.slice(to, to + 2);
  const end = after === "\n\n" ? "" : after.startsWith("\n") ? "\n" : "\n\n";
  const text = `${gap}${made.block}${end}`;
  const [first, last] = made.select?.map((at) => gap.length + at) ?? [text.length, text.length];
  editor.replace({ from: start, to }, text, { select: { from: first, to: last } });
  editor.focus();
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
  const editor = editorOf(textarea);
  if (editor) insertInEditor(editor, block);
  else if (textarea) insertInTextarea(textarea, block);
}
