// @ts-check
// The box at a photo in the text: buttons for its width and alignment, and its form with caption and alternative text.
//
// A photo is written as `![alt](photo:ID "caption")`. With a width or an alignment, it becomes an insert: `::photo{…}`.
import { syntaxTree } from "../vendor/codemirror/codemirror.js";
import { tooltip } from "./bubble.js";
import { formatDirective, parseDirective } from "./directives.js";
import { create } from "./dom.js";
import { describeInsert, editPart } from "./inserts.js";
import { button, showPressed } from "./toolbar.js";

/** @import { EditorState } from "@codemirror/state" */
/** @import { SyntaxNode } from "@lezer/common" */

/**
 * A photo in its own line. `attributes` are the attributes of the insert. `image` is the Markdown of a photo that isn't an
 * insert.
 *
 * @typedef {{ from: number, to: number, attributes: Record<string, string>, image?: Image }} PhotoPlace
 * @typedef {{ spelled: string, source: string, alt: string, caption: string }} Image
 */

/** @type {["Text" | "Wide" | "Full" | "Left" | "Right", string, string][]} The name, width and alignment of each layout. */
const LAYOUTS = [
  ["Text", "", ""],
  ["Wide", "wide", ""],
  ["Full", "full", ""],
  ["Left", "half", "left"],
  ["Right", "half", "right"],
];
const ESCAPED = /\\([!-/:-@[-`{-~])/g;

/**
 * Return the photo at the caret if it is in its own paragraph, outside of lists and quotations.
 *
 * @param {EditorState} state
 * @param {import("./targets.js").Targets} targets
 * @returns {PhotoPlace | null}
 */
function photoAt(state, targets) {
  const { main } = state.selection;
  if (!main.empty) return null;
  const { from, text } = state.doc.lineAt(main.head);
  const start = from + text.length - text.trimStart().length;
  /** @type {SyntaxNode | null} */
  let node = syntaxTree(state).resolveInner(start, 1);
  while (node && node.name !== "Image" && node.name !== "Directive") node = node.parent;
  if (!node || node.from !== start || node.to !== from + text.trimEnd().length) return null;
  const range = { from: node.from, to: node.to };
  if (node.name === "Directive") {
    const directive = parseDirective(text.trim());
    return directive?.name === "photo" ? { ...range, attributes: directive.attributes } : null;
  }
  const { parent } = node;
  const isAlone = parent?.name === "Paragraph" && parent.from === node.from && parent.to === node.to;
  const image = isAlone && parent.parent?.name === "Document" ? readImage(state, node) : null;
  const photo = image && targets.get(image.source)?.ref;
  if (!image || !photo) return null;
  return { ...range, attributes: { photo, caption: image.caption, alt: image.alt }, image };
}

/**
 * @param {EditorState} state
 * @param {SyntaxNode} node
 * @returns {Image | null}
 */
function readImage(state, node) {
  const url = node.getChild("URL");
  const [opening, closing] = node.getChildren("LinkMark");
  if (!url || !closing || !state.sliceDoc(url.from, url.to).startsWith("photo:")) return null;
  const title = node.getChild("LinkTitle");
  return {
    spelled: state.sliceDoc(node.from, node.to),
    source: state.sliceDoc(url.from, url.to),
    alt: state.sliceDoc(opening.to, closing.from).replace(ESCAPED, "$1"),
    caption: title ? state.sliceDoc(title.from + 1, title.to - 1).replace(ESCAPED, "$1") : "",
  };
}

/**
 * Return the Markdown of a photo with these attributes. If nothing has changed, it is written as before.
 *
 * @param {PhotoPlace} place
 * @param {Record<string, string>} attributes
 */
function write({ image, attributes: before }, attributes) {
  const { photo, alt = "", caption = "", width, align } = attributes;
  const isPlain = (!width || width === "text") && !align;
  if (!image || !isPlain) return `::${formatDirective("photo", attributes)}`;
  const isSame = photo === before.photo && alt === image.alt && caption === image.caption;
  if (isSame) return image.spelled;
  const source = photo === before.photo ? image.source : photo;
  const title = caption ? ` "${caption.replace(/["\\]/g, "\\$&")}"` : "";
  return `![${alt.replace(/[\\`*_[\]<>&]/g, "\\$&")}](${source}${title})`;
}

/**
 * Return the name of a photo's layout, or "" if it has no button.
 *
 * @param {PhotoPlace} place
 */
function layoutOf({ attributes: { width = "", align = "" } }) {
  const ownWidth = width === "text" ? "" : width;
  return LAYOUTS.find((layout) => (align ? layout[2] === align : !layout[2] && layout[1] === ownWidth))?.[0] ?? "";
}

/**
 * Show a box at the photo at the caret.
 *
 * @param {() => import("./text_editor.js").TextEditor} getEditor
 * @param {any} words
 * @param {import("./targets.js").Targets} targets
 */
export const photoBox = (getEditor, words, targets) =>
  tooltip((state) => {
    const place = describeInsert("photo") && photoAt(state, targets);
    if (!place) return null;
    const { attributes, from } = place;
    return {
      pos: from,
      above: true,
      // The editor's scroll margins would also hide the box while the toolbar covers only the first lines of the text.
      clip: false,
      create() {
        const editor = getEditor();
        const layouts = LAYOUTS.map(([name, width, align]) =>
          button(
            `photo${name}`,
            words.layouts[name],
            () => {
              // A photo beside the text keeps its width if it is narrow enough.
              const isThird = align && attributes.width === "third";
              const changed = { ...attributes, width: isThird ? "third" : width, align };
              editor.replace(place, write(place, changed), { select: { from: 0, to: 0 } });
              editor.focus();
            },
            [name],
          ),
        );
        const edit = button("edit", words.editPhoto, () => {
          editPart(editor, place, { name: "photo", attributes }, (made) =>
            write(place, parseDirective(`::${made}`)?.attributes ?? attributes),
          );
        });
        const bar = create(
          "div",
          { className: "md-bubble", role: "toolbar", ariaLabel: words.photo },
          ...layouts,
          edit,
        );
        showPressed(bar, new Set([layoutOf(place)]));
        return { dom: bar };
      },
    };
  });
