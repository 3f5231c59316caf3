// @ts-check
// Links in a text, chosen in a dialog or pasted. If a URL is on the site, it becomes a link by id, which still works after
// the page has moved.
//
// A pasted URL is first inserted unchanged. Undo restores this URL, and it is kept if the server doesn't respond.
import { lookUp } from "./chooser.js";
import { fetchJson, find } from "./dom.js";
import { textarea } from "./insertion.js";

/**
 * A place in the text, with the link text and target of the link at this place.
 *
 * @typedef {{ from: any, to: any, words: string, target?: string }} Place
 */

const source = find(document, "#node_form", HTMLFormElement)?.dataset.links;
const dialog = find(document, "#link-dialog", HTMLDialogElement);
const input = find(document, "#link-target", HTMLInputElement);
/** @type {{ cm: any, words: string, mark: any } | null} The place for which the dialog is open. */
let place = null;

/** @param {string} title */
const escaped = (title) => title.replace(/[\\`*_[\]<>&]/g, "\\$&");

/** @param {string} sign */
const percentEncoded = (sign) => `%${sign.charCodeAt(0).toString(16)}`;

/**
 * Return the link at the cursor, which the dialog will change.
 *
 * @param {any} cm
 * @returns {Place | null}
 */
function linkAtCursor(cm) {
  if (cm.somethingSelected()) return null;
  const { line, ch } = cm.getCursor();
  for (const { 0: all, 1: words, 2: target, index } of cm
    .getLine(line)
    .matchAll(/(?<!!)\[((?:[^[\]\\]|\\.)*)\]\(([^()\s]*)\)/g)) {
    const end = index + all.length;
    if (index < ch && ch < end) return { from: { line, ch: index }, to: { line, ch: end }, words, target };
  }
  return null;
}

/**
 * Return the place for a new link.
 *
 * @param {any} cm
 * @returns {Place}
 */
function placeOfSelection(cm) {
  const selected = cm.getSelection();
  const to = cm.getCursor("to");
  // A link can't span several paragraphs.
  if (/\n\s*\n/.test(selected)) return { from: to, to, words: "" };
  return { from: cm.getCursor("from"), to, words: selected };
}

/**
 * Open the dialog for the link at the cursor, or for a new one.
 *
 * @param {any} cm The text's CodeMirror instance.
 * @returns {boolean} Whether this page has the link dialog.
 */
export function chooseLink(cm) {
  if (!dialog || !input || !source) return false;
  const cursor = cm.getCursor();
  const before = { line: cursor.line, ch: cursor.ch - 2 };
  const isTyped = cm.getRange(before, cursor) === "[[" && !cm.somethingSelected();
  const { from, to, words, target } = isTyped
    ? { from: before, to: cursor, words: "", target: "" }
    : (linkAtCursor(cm) ?? placeOfSelection(cm));
  place = { cm, words, mark: cm.markText(from, to, { clearWhenEmpty: false }) };
  input.value = target ?? "";
  dialog.showModal();
  input.select();
  lookUp(input);
  return true;
}

/**
 * Open the dialog if the user has just typed "[[", except in code.
 *
 * @param {any} cm
 */
export function chooseTypedLink(cm) {
  const cursor = cm.getCursor();
  if (!/(^|[^[!\\])\[\[$/.test(cm.getRange({ line: cursor.line, ch: 0 }, cursor))) return;
  if (!/comment/.test(cm.getTokenTypeAt(cursor) || "")) chooseLink(cm);
}

/**
 * Insert the chosen link.
 *
 * @param {any} cm
 * @param {{ from: any, to: any }} range
 * @param {string} selected The words that were selected.
 * @param {import("./chooser.js").Choice} choice
 * @param {string} typed
 */
function write(cm, { from, to }, selected, choice, typed) {
  const hash = typed.indexOf("#");
  const anchor = /^(node|photo):/.test(choice.ref) && hash >= 0 ? typed.slice(hash) : "";
  const target = (choice.ref + anchor).replace(/[\s()<>]/g, percentEncoded);
  const isBare = !selected && choice.title === choice.ref;
  const title = isBare ? choice.title.replace(/^(https?:\/\/|mailto:|tel:)/, "") : choice.title;
  const words = selected || escaped(title);
  cm.replaceRange(`[${words}](${target})`, from, to, "*link");
  // A URL has no title. Select the placeholder text, so that typing replaces it.
  const start = { line: from.line, ch: from.ch + 1 };
  if (isBare) cm.setSelection(start, { line: from.line, ch: start.ch + words.length });
  else cm.setCursor(cm.posFromIndex(cm.indexFromPos(from) + words.length + target.length + 4));
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
    const { cm, words, mark } = place;
    const range = mark.find();
    mark.clear();
    if (chosen && range) write(cm, range, words, chosen, input.value.trim());
    chosen = null;
    cm.focus();
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
 * @param {any} cm
 * @param {URL} url
 * @param {string} pasted
 */
async function pasteOwn(cm, url, pasted) {
  const from = cm.getCursor("from");
  const chosen = cm.getSelection();
  // If the URL is pasted as the target of a link, the link text already exists.
  const inLink = /\]\(<?$/.test(cm.getRange({ line: from.line, ch: 0 }, from));
  cm.replaceSelection(pasted, "around", "paste");
  const mark = cm.markText(cm.getCursor("from"), cm.getCursor("to"));
  cm.setCursor(cm.getCursor("to"));
  const { ref, title } = await fetchJson(`${source}?address=${encodeURIComponent(url.pathname)}`).catch(() => ({}));
  const range = mark.find();
  mark.clear();
  // If the editor has changed the text in the meantime, keep it.
  if (!ref || !range || cm.getRange(range.from, range.to) !== pasted) return;
  const words = chosen && !chosen.includes("\n") ? chosen : escaped(title);
  const target = ref + url.hash;
  cm.replaceRange(inLink ? target : `[${words}](${target})`, range.from, range.to, "*link");
}

/**
 * Return whether a pasted URL turns the selected words into a link.
 *
 * @param {any} cm
 * @param {string} pasted
 */
function isPastedOverWords(cm, pasted) {
  const words = cm.getSelection();
  if (!/^https?:\/\/\S+$/.test(pasted) || !words.trim() || /[\n[\]`]|:\/\//.test(words)) return false;
  return !/comment|string|tag|link/.test(cm.getTokenTypeAt(cm.getCursor("to")) || "");
}

/** @param {ClipboardEvent} event */
function paste(event) {
  const cm = /** @type {any} */ (event.target).closest(".CodeMirror")?.CodeMirror;
  if (!cm) return;
  const pasted = event.clipboardData?.getData("text/plain").trim() ?? "";
  const url = ownUrl(pasted);
  if (url) {
    // Don't change code and HTML. URLs in HTML are quoted.
    const isQuoted = /comment|string|tag/.test(cm.getTokenTypeAt(cm.getCursor("from")) || "");
    if (isQuoted && !cm.getSelection()) return;
    pasteOwn(cm, url, pasted);
  } else if (isPastedOverWords(cm, pasted)) {
    cm.replaceSelection(`[${cm.getSelection()}](${pasted.replace(/[()<>]/g, percentEncoded)})`, "end", "paste");
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

if (dialog && input) setUp(dialog, input);
// The editor's element comes after the textarea. This listener runs before the editor's own listeners.
if (source) textarea?.parentElement?.addEventListener("paste", paste, true);
