// @ts-check
// Puts the cursor at a place in the text, for links such as #text-3-14: line 3, after 14 characters.
import { editorOf, textarea } from "./insertion.js";

/**
 * Put the cursor at the place in the text that a URL's fragment specifies. Ignore other fragments.
 *
 * @param {string} hash
 */
export function goToPlace(hash) {
  const [, line, column] = /^#text-(\d+)-(\d+)$/.exec(hash) ?? [];
  if (!line || !textarea) return;
  const editor = editorOf(textarea);
  const text = editor ? editor.text : textarea.value;
  const lines = text.split("\n").slice(0, Number(line));
  // The server counts characters, and JavaScript counts UTF-16 code units.
  const inLine = [...(lines.pop() ?? "")].slice(0, Number(column)).join("");
  const at = [...lines, inLine].join("\n").length;
  if (editor) {
    editor.select({ from: at, to: at });
    editor.focus();
  } else {
    textarea.setSelectionRange(at, at);
    textarea.focus();
  }
}

document.addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a[href^='#text-']") : null;
  if (!(link instanceof HTMLAnchorElement)) return;
  event.preventDefault();
  goToPlace(link.hash);
});
