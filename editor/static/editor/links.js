// @ts-check
// Links in a text, chosen in a dialog or pasted. If a URL is on the site, it becomes a link by id, which still works after
// the page has moved.
//
// A pasted URL is first inserted unchanged. Undo restores this URL, and it is kept if the server doesn't respond.
import { lookUp } from "./chooser.js";
import { fetchJson, find } from "./dom.js";
import { editorOf, textarea } from "./insertion.js";

/** @typedef {import("./text_editor.js").TextEditor} TextEditor */

/**
 * A place in the text, with the link text and target of the link at this place.
 *
 * @typedef {{ from: number, to: number, words: string, target?: string }} Place
 */

const source = find(document, "#node_form", HTMLFormElement)?.dataset.links;
const dialog = find(document, "#link-dialog", HTMLDialogElement);
const input = find(document, "#link-target", HTMLInputElement);
/** @type {{ editor: TextEditor, words: string, tracked: ReturnType<TextEditor["track"]> } | null} The place for which the dialog is open. */
let place = null;

/** @param {string} title */
const escaped = (title) => title.replace(/[\\`*_[\]<>&]/g, "\\$&");

/** @param {string} sign */
const percentEncoded = (sign) => `%${sign.charCodeAt(0).toString(16)}`;

/**
 * Return the text of the line before the cursor or before the selection.
 *
 * @param {TextEditor} editor
 */
function lineBefore(editor) {
  const { from } = editor.selection;
  return editor.slice({ from: editor.view.state.doc.lineAt(from).from, to: from });
}

/**
 * Return the link at the cursor, which the dialog will change.
 *
 * @param {TextEditor} editor
 * @returns {Place | null}
 */
function linkAtCursor(editor) {
  const { from: cursor, to } = editor.selection;
  if (cursor !== to) return null;
  const line = editor.view.state.doc.lineAt(cursor);
  for (const { 0: all, 1: words, 2: target, index } of line.text.matchAll(
    /(?<!!)\[((?:[^[\]\\]|\\.)*)\]\(([^()\s]*)\)/g,
  )) {
    const from = line.from + index;
    if (from < cursor && cursor < from + all.length) return { from, to: from + all.length, words, target };
  }
  return null;
}

/**
 * Return the place for a new link.
 *
 * @param {TextEditor} editor
 * @returns {Place}
 */
function placeOfSelection(editor) {
  const { from, to } = editor.selection;
  const selected = editor.slice({ from, to });
  // A link can't span several paragraphs.
  if (/\n\s*\n/.test(selected)) return { from: to, to, words: "" };
  return { from, to, words: selected };
}

/**
 * Open the dialog for the link at the cursor, or for a new one.
 *
 * @param {TextEditor} editor
 */
export function chooseLink(editor) {
  if (!dialog || !input || !source) return;
  const { from: cursor, to: end } = editor.selection;
  const isTyped = cursor === end && editor.slice({ from: Math.max(0, cursor - 2), to: cursor }) === "[[";
  const { from, to, words, target } = isTyped
    ? { from: cursor - 2, to: cursor, words: "", target: "" }
    : (linkAtCursor(editor) ?? placeOfSelection(editor));
  place = { editor, words, tracked: editor.track({ from, to }) };
  input.value = target ?? "";
  dialog.showModal();
  input.select();
  lookUp(input);
}

/**
 * Open the dialog if the user has just typed "[[", except in code.
 *
 * @param {TextEditor} editor
 */
export function chooseTypedLink(editor) {
  if (!/(^|[^[!\\])\[\[$/.test(lineBefore(editor))) return;
  if (!isCode(editor, editor.selection.from)) chooseLink(editor);
}

/**
 * Return whether a position is in code, in HTML or in a URL, where no links are inserted.
 *
 * @param {TextEditor} editor
 * @param {number} position
 */
export function isCode(editor, position) {
  const names = editor.syntaxAt(position);
  if (["InlineCode", "FencedCode", "CodeBlock", "HTMLBlock", "HTMLTag"].some((name) => names.has(name))) return true;
  // Code that isn't closed yet, and HTML tags that are still being typed.
  const before = lineBefore(editor);
  return before.replace(/`[^`]*`/g, "").includes("`") || /<[a-z][^>]*$/i.test(before);
}

/**
 * Insert the chosen link.
 *
 * @param {TextEditor} editor
 * @param {import("./text_editor.js").Range} range
 * @param {string} selected The words that were selected.
 * @param {import("./chooser.js").Choice} choice
 * @param {string} typed
 */
function write(editor, range, selected, choice, typed) {
  const hash = typed.indexOf("#");
  const anchor = /^(node|photo):/.test(choice.ref) && hash >= 0 ? typed.slice(hash) : "";
  const target = (choice.ref + anchor).replace(/[\s()<>]/g, percentEncoded);
  const isBare = !selected && choice.title === choice.ref;
  const title = isBare ? choice.title.replace(/^(https?:\/\/|mailto:|tel:)/, "") : choice.title;
  const words = selected || escaped(title);
  // A URL has no title. Select the placeholder text, so that typing replaces it.
  const select = isBare ? { from: 1, to: 1 + words.length } : undefined;
  editor.replace(range, `[${words}](${target})`, { select });
}

/**
 * @param {HTMLDialogElement} dialog
 * @param {HTMLInputElement} input
 */
function setUp(dialog, input) {
  /** @type {import("./chooser.js").Choice | null} */
  let chosen = null;
  input.addEventListener("chosen", (event) => {
    chosen = /** @type {CustomEvent} */ (event).detail;
    dialog.close();
  });
  dialog.addEventListener("close", () => {
    if (!place) return;
    const { editor, words, tracked } = place;
    place = null;
    tracked.end();
    if (chosen) write(editor, tracked.find(), words, chosen, input.value.trim());
    chosen = null;
    editor.focus();
  });
}

/**
 * Return the pasted URL if it is on this site.
 *
 * @param {string} pasted
 */
function ownUrl(pasted) {
  if (/\s/.test(pasted) || !pasted.startsWith(`${location.origin}/`)) return null;
  const url = new URL(pasted);
  return url.search ? null : url;
}

/**
 * @param {TextEditor} editor
 * @param {URL} url
 * @param {string} pasted
 */
async function pasteOwn(editor, url, pasted) {
  const { from, to } = editor.selection;
  const chosen = editor.slice({ from, to });
  // If the URL is pasted as the target of a link, the link text already exists.
  const inLink = /\]\(<?$/.test(lineBefore(editor));
  editor.replace({ from, to }, pasted, { event: "input.paste" });
  const tracked = editor.track({ from, to: from + pasted.length });
  const { ref, title } = await fetchJson(`${source}?address=${encodeURIComponent(url.pathname)}`).catch(() => ({}));
  const range = tracked.find();
  tracked.end();
  // If the editor has changed the text in the meantime, keep it.
  if (!ref || editor.slice(range) !== pasted) return;
  const words = chosen && !chosen.includes("\n") ? chosen : escaped(title);
  const target = ref + url.hash;
  editor.replace(range, inLink ? target : `[${words}](${target})`);
}

/**
 * Return whether a pasted URL turns the selected words into a link.
 *
 * @param {TextEditor} editor
 * @param {string} pasted
 */
function isPastedOverWords(editor, pasted) {
  const { from, to } = editor.selection;
  const words = editor.slice({ from, to });
  if (!/^https?:\/\/\S+$/.test(pasted) || !words.trim() || /[\n[\]`]|:\/\//.test(words)) return false;
  return !isCode(editor, to) && !editor.syntaxAt(to).has("Link");
}

/** @param {ClipboardEvent} event */
function paste(event) {
  const editor = editorOf(textarea);
  if (!editor?.view.contentDOM.contains(/** @type {Node} */ (event.target))) return;
  const pasted = event.clipboardData?.getData("text/plain").trim() ?? "";
  const url = ownUrl(pasted);
  const { from, to } = editor.selection;
  if (url) {
    // Don't change code and HTML. URLs in HTML are quoted.
    if (from === to && isCode(editor, from)) return;
    pasteOwn(editor, url, pasted);
  } else if (isPastedOverWords(editor, pasted)) {
    const link = `[${editor.slice({ from, to })}](${pasted.replace(/[()<>]/g, percentEncoded)})`;
    editor.replace({ from, to }, link, { event: "input.paste" });
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

if (dialog && input) setUp(dialog, input);
// The editor's element comes after the textarea. This listener runs before the editor's own listeners.
if (source) textarea?.parentElement?.addEventListener("paste", paste, true);
