// @ts-check
// Pastes formatted text into the Markdown editor as Markdown: texts from word processors, mail programs and web pages.
// The script that converts them, clipboard.js, is loaded when it is first needed.
import { find, parseClipboard, pictureFiles } from "./dom.js";
import { editorOf, textarea } from "./insertion.js";
import { isCode } from "./links.js";
import { describePictures, hasPictureDialog } from "./pictures.js";

/** @typedef {import("./text_editor.js").TextEditor} TextEditor */
/** @typedef {import("./clipboard.js").Converted} Converted */

// Longer texts are pasted without formatting, in characters.
const MAX_LENGTH = 20_000_000;
// Whether Ctrl+Shift+V is pressed, which pastes without formatting.
let isPlain = false;

/**
 * Return the HTML to convert, or "" if the clipboard contains only plain text or pictures.
 *
 * @param {DataTransfer | null} transfer
 */
function formatted(transfer) {
  // Programs for code put coloured code into the clipboard. The plain text is the code itself.
  if (!transfer || isPlain || transfer.types.includes("vscode-editor-data")) return "";
  const html = transfer.getData("text/html");
  if (!html || html.length > MAX_LENGTH) return "";
  const { body } = parseClipboard(html);
  const hasPicture = !pictureFiles(transfer).length && body.querySelector('img[src^="data:"]');
  return body.textContent?.trim() || hasPicture ? html : "";
}

/**
 * Return the pictures as files. A picture for which there is no file is null.
 *
 * @param {Converted} converted
 * @param {File[]} files The picture files in the clipboard.
 * @returns {Promise<(File | null)[]>}
 */
function pictureFilesOf({ pictures }, files) {
  const missing = pictures.filter(({ url }) => !url.startsWith("data:")).length;
  const left = missing === files.length ? [...files] : [];
  return Promise.all(
    pictures.map(async ({ url, alt }, number) => {
      if (!url.startsWith("data:")) return left.shift() ?? null;
      const data = /^data:(image\/[\w.+-]+);base64,([\w+/=\s%]+)$/i.exec(url);
      if (!data) return null;
      try {
        const bytes = Uint8Array.from(atob(decodeURIComponent(data[2])), (character) => character.charCodeAt(0));
        const name = (alt || `picture-${number + 1}`).replace(/[\\/]/g, " ").slice(0, 80);
        return new File([bytes], `${name}.${data[1].split(/[/+]/)[1]}`, { type: data[1] });
      } catch {
        return null;
      }
    }),
  );
}

/**
 * Return the Markdown with uploaded photos instead of the marks. If a picture wasn't uploaded, its alternative text remains.
 *
 * @param {Converted} converted
 * @param {(File | null)[]} files
 * @param {Map<File, any>} photos
 */
function withPhotos({ markdown, pictures }, files, photos) {
  let text = markdown;
  for (const [number, { mark, alt }] of pictures.entries()) {
    const file = files[number];
    text = text.replace(mark, () => (file && photos.get(file)?.markdown) ?? alt.replace(/[\\`*_[\]<>]/g, "\\$&"));
  }
  return text.replace(/\n{3,}/g, "\n\n").trim();
}

/**
 * Return whether the Markdown consists of more than one line of text, so that it needs its own paragraphs.
 *
 * @param {string} markdown
 */
const isBlock = (markdown) => /\n\n|^(?:#{1,6} |[-*>|] |\d+\. |```|---$|!\[)/m.test(markdown);

/**
 * @param {TextEditor} editor
 * @param {import("./text_editor.js").Range} range
 * @param {string} markdown
 */
function insert(editor, { from, to }, markdown) {
  const text = editor.text;
  let before = "";
  let after = "";
  if (isBlock(markdown)) {
    // Formatted paragraphs need empty lines around them.
    const lines = /\n*$/.exec(text.slice(0, from))?.[0].length ?? 0;
    before = text.slice(0, from).trim() ? "\n".repeat(Math.max(0, 2 - lines)) : "";
    const following = /^\n*/.exec(text.slice(to))?.[0].length ?? 0;
    after = text.slice(to).trim() ? "\n".repeat(Math.max(0, 2 - following)) : "";
  }
  editor.replace({ from, to }, before + markdown + after, { event: "input.paste" });
}

/**
 * Return the number for the next footnote in the text.
 *
 * @param {string} text
 */
function nextNote(text) {
  return 1 + [...text.matchAll(/\[\^(\d{1,6})\]/g)].reduce((most, [, number]) => Math.max(most, Number(number)), 0);
}

/**
 * Ask for the alternative text of the pictures, and upload them. Return the photos of the pictures that were uploaded.
 *
 * @param {File[]} files
 * @returns {Promise<Map<File, any>>}
 */
function uploadAll(files) {
  if (!files.length || !hasPictureDialog) return Promise.resolve(new Map());
  return new Promise((done) => describePictures(files, { done }));
}

/**
 * @param {TextEditor} editor
 * @param {string} html
 * @param {string} plain The same text without formatting, which is pasted if the conversion fails.
 * @param {File[]} files
 */
async function pasteFormatted(editor, html, plain, files) {
  // The text and the selection can change until the script is loaded and the pictures are uploaded.
  const tracked = editor.track(editor.selection);
  let markdown = plain;
  try {
    const { isFromWord, toMarkdown } = await import("./clipboard.js");
    const converted = toMarkdown(html, nextNote(editor.text));
    const pictures = await pictureFilesOf(converted, isFromWord(html) ? [] : files);
    const photos = await uploadAll(pictures.filter((file) => file !== null));
    markdown = withPhotos(converted, pictures, photos);
    if (!isBlock(markdown)) {
      // Words can be pasted with the spaces around them.
      markdown = (/^[ \t]+/.exec(plain)?.[0] ?? "") + markdown + (/[ \t]+$/.exec(plain)?.[0] ?? "");
    }
  } catch (error) {
    console.error(error);
  }
  insert(editor, tracked.find(), markdown);
  tracked.end();
  editor.focus();
}

/** @param {ClipboardEvent} event */
function paste(event) {
  const editor = editorOf(textarea);
  // links.js has already pasted URLs.
  if (event.defaultPrevented || !editor?.view.contentDOM.contains(/** @type {Node} */ (event.target))) return;
  const transfer = event.clipboardData;
  const files = pictureFiles(transfer);
  const html = isCode(editor, editor.selection.from) ? "" : formatted(transfer);
  if (html) pasteFormatted(editor, html, transfer?.getData("text/plain") ?? "", files);
  else if (files.length && hasPictureDialog) describePictures(files);
  else return;
  event.preventDefault();
  event.stopPropagation();
}

const place = find(document, "#node_form", HTMLFormElement) && textarea?.parentElement;
// These listeners run before the editor's own listeners.
place?.addEventListener("paste", paste, true);
place?.addEventListener(
  "keydown",
  ({ ctrlKey, key, metaKey, shiftKey }) => {
    isPlain = shiftKey && (ctrlKey || metaKey) && key.toLowerCase() === "v";
  },
  true,
);
place?.addEventListener(
  "keyup",
  () => {
    isPlain = false;
  },
  true,
);
