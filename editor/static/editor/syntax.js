// @ts-check
// The site's Markdown for CodeMirror: GitHub's syntax, directives, footnotes, ==marked== text and $maths$.
//
// The server's parser is in marginalia/markup. This parser only decides how the text is shown in the editor.
import { Language, markdownLanguage, tags } from "../vendor/codemirror/codemirror.js";

/** @import { MarkdownConfig, MarkdownParser } from "@lezer/markdown" */

const DIRECTIVE = /^(?::{2,}[a-z][a-z0-9-]{0,39}[ \t]*(?:\{.*\})?|:{3,})[ \t]*$/;
const FOOTNOTE = /^\[\^[^\]\s]{1,100}\]/;
const MATHS = /^\$(?![\s$])(?:[^$\\\n]|\\.){1,2000}?(?<!\s)\$(?![\w$])/;
const OPEN_BRACKET = 91;
const EQUALS = 61;
const DOLLAR = 36;

const Mark = { resolve: "Highlight", mark: "HighlightMark" };

/** @type {MarkdownConfig} */
const syntax = {
  defineNodes: [
    { name: "Directive", block: true, style: tags.processingInstruction },
    { name: "FootnoteDefinition", block: true },
    { name: "FootnoteMark", style: tags.labelName },
    { name: "FootnoteReference", style: tags.labelName },
    { name: "Highlight", style: { "Highlight/...": tags.inserted } },
    { name: "HighlightMark", style: tags.processingInstruction },
    { name: "Maths", style: tags.monospace },
  ],
  remove: ["Emoji"],
  parseBlock: [
    {
      name: "Directive",
      before: "FencedCode",
      parse(cx, line) {
        if (line.next !== 58 || !DIRECTIVE.test(line.text.slice(line.pos))) return false;
        const from = cx.lineStart + line.pos;
        const to = cx.lineStart + line.text.length;
        cx.addElement(cx.elt("Directive", from, to));
        cx.nextLine();
        return true;
      },
      endLeaf: (_cx, line) => line.next === 58 && DIRECTIVE.test(line.text.slice(line.pos)),
    },
    {
      name: "FootnoteDefinition",
      before: "LinkReference",
      leaf(_cx, leaf) {
        if (!/^\[\^[^\]\s]{1,100}\]:/.test(leaf.content)) return null;
        return {
          nextLine: () => false,
          finish(context, { content, start }) {
            const length = content.indexOf("]:") + 2;
            const mark = context.elt("FootnoteMark", start, start + length);
            const words = context.parser.parseInline(content.slice(length), start + length);
            context.addLeafElement(
              leaf,
              context.elt("FootnoteDefinition", start, start + content.length, [mark, ...words]),
            );
            return true;
          },
        };
      },
    },
  ],
  parseInline: [
    {
      name: "FootnoteReference",
      before: "Link",
      parse(cx, next, pos) {
        if (next !== OPEN_BRACKET) return -1;
        const found = FOOTNOTE.exec(cx.slice(pos, Math.min(cx.end, pos + 104)));
        return found ? cx.addElement(cx.elt("FootnoteReference", pos, pos + found[0].length)) : -1;
      },
    },
    {
      name: "Highlight",
      after: "Emphasis",
      parse(cx, next, pos) {
        if (next !== EQUALS || cx.char(pos + 1) !== EQUALS || cx.char(pos + 2) === EQUALS) return -1;
        const before = cx.slice(pos - 1, pos);
        const after = cx.slice(pos + 2, pos + 3);
        return cx.addDelimiter(Mark, pos, pos + 2, /\S/.test(after), /\S/.test(before));
      },
    },
    {
      name: "Maths",
      before: "Escape",
      parse(cx, next, pos) {
        if (next !== DOLLAR || /[\w$]/.test(cx.slice(Math.max(cx.offset, pos - 1), pos))) return -1;
        const found = MATHS.exec(cx.slice(pos, Math.min(cx.end, pos + 2002)));
        return found ? cx.addElement(cx.elt("Maths", pos, pos + found[0].length)) : -1;
      },
    },
  ],
};

const { parser } = markdownLanguage;
/** The site's Markdown. It has the data of CodeMirror's own language, so that CodeMirror's Markdown commands work. */
export const siteMarkdown = new Language(
  markdownLanguage.data,
  /** @type {MarkdownParser} */ (parser).configure(syntax),
  [],
  "markdown",
);
