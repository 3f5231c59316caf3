// @ts-check
// Converts HTML from the clipboard to Markdown: texts from word processors, mail programs and web pages. paste.js loads
// this module when it is first needed. The conversion doesn't change the page.
import { gfm, TurndownService } from "../vendor/turndown/turndown.js";
import { parseClipboard } from "./dom.js";

/**
 * The result of a conversion. Each picture that the clipboard contains is represented by a mark in the Markdown.
 *
 * @typedef {{ mark: string, url: string, alt: string }} Picture
 * @typedef {{ markdown: string, pictures: Picture[] }} Converted
 */

const HEADINGS = "h1, h2, h3, h4, h5, h6";
const BLOCKS = `address, article, blockquote, div, dl, figure, hr, ol, p, pre, section, table, ul, ${HEADINGS}`;
const NEVER_SHOWN =
  "head, link, meta, script, style, svg, template, title, xml, button, input, select, textarea, iframe, [hidden]";
// The attributes that the conversion needs. All others are removed.
const KEPT = new Set(["href", "src", "alt", "title", "colspan", "start", "align"]);
const MONOSPACE = /\bmono(?:space)?\b|courier|consolas|menlo|monaco/i;
const LANGUAGE = /\b(?:language|lang|highlight-source)-(\w+)/;
const FOREIGN_MARKUP = /(?:mso-list|mso-element|class="?Mso|xmlns:w=)/i;
// Redirects that Google adds to links in documents.
const REDIRECT = /^https:\/\/www\.google\.com\/url\?(.*)$/;
const LIST_LEVEL = /mso-list:\s*(l\d+)\s+level(\d+)/i;
const NUMBERED = /^\(?(?:\d+|[a-z]|[ivxlc]+)[.)]/i;

/** @param {Element} element */
const styleOf = (element) => element.getAttribute("data-style") ?? "";

/**
 * Return the value of a property in an element's style. The style is parsed as text, because browsers drop the properties
 * that only word processors know.
 *
 * @param {Element} element
 * @param {string} name
 */
function property(element, name) {
  const found = new RegExp(`(?:^|;)\\s*${name}\\s*:\\s*([^;]+)`, "i").exec(styleOf(element));
  return found?.[1].trim().toLowerCase() ?? "";
}

/** @param {Element} element */
const unwrap = (element) => element.replaceWith(...element.childNodes);

/**
 * Replace an element, but keep its content.
 *
 * @param {Element} element
 * @param {string} name
 */
function rename(element, name) {
  const renamed = element.ownerDocument.createElement(name);
  renamed.append(...element.childNodes);
  element.replaceWith(renamed);
  return renamed;
}

/**
 * Put the content of an element into a new element inside it.
 *
 * @param {Element} element
 * @param {string} name
 */
function wrapContent(element, name) {
  const inner = element.ownerDocument.createElement(name);
  inner.append(...element.childNodes);
  element.append(inner);
}

/** @param {Document} page */
function removeUnseen(page) {
  const comments = page.createNodeIterator(page, NodeFilter.SHOW_COMMENT);
  for (let node = comments.nextNode(); node; node = comments.nextNode()) /** @type {Comment} */ (node).remove();
  for (const element of page.body.querySelectorAll(NEVER_SHOWN)) element.remove();
  for (const element of page.body.querySelectorAll("*")) {
    const isHidden = /mso-hide:\s*all|display:\s*none/i.test(styleOf(element));
    // Elements of Word, such as <o:p>, are empty or contain only text.
    if (isHidden) element.remove();
    else if (element.localName.includes(":")) unwrap(element);
  }
}

/**
 * Replace the links between footnotes and their references with Markdown's footnotes.
 *
 * Word, LibreOffice, Google Docs and web pages use different markup, but in all of them, the reference and the footnote
 * link to each other.
 *
 * @param {Document} page
 * @param {number} first The number of the first footnote.
 * @returns {[string, HTMLElement][]} The names of the footnotes, and their content.
 */
function takeFootnotes(page, first) {
  /** @type {Map<string, Element>} */
  const targets = new Map();
  for (const element of page.body.querySelectorAll("[id], a[name]")) {
    for (const name of [element.id, element.getAttribute("name")])
      if (name && !targets.has(name)) targets.set(name, element);
  }
  /** @param {Element} link */
  const target = (link) => targets.get(decodeURIComponent((link.getAttribute("href") ?? "").slice(1)));
  /** @type {Map<Element, string>} */
  const names = new Map();
  /** @type {[string, HTMLElement][]} */
  const notes = [];
  for (const link of page.body.querySelectorAll('a[href^="#"]')) {
    const found = /^[[(]?\w{1,4}[\])]?$/.test(link.textContent?.trim() ?? "") ? target(link) : undefined;
    const block = found?.closest('li, [data-style*="mso-element"], div[id], p') ?? found;
    if (!block || block.contains(link)) continue;
    const around = link.closest("sup[id]") ?? link;
    const back = [...block.querySelectorAll('a[href^="#"]')].find((one) => {
      const to = target(one);
      return to && (to === link || to === around || to.contains(link) || link.contains(to));
    });
    if (!back) continue;
    let name = names.get(block);
    if (!name) {
      name = String(first + notes.length);
      names.set(block, name);
      notes.push([name, /** @type {HTMLElement} */ (block)]);
      // The number at the start of the note, with its brackets and its arrow.
      for (const one of block.querySelectorAll('a[href^="#"]')) if (target(one)) (one.closest("sup") ?? one).remove();
    }
    const mark = page.createElement("note-mark");
    mark.textContent = name;
    const sup = link.closest("sup");
    (sup?.textContent?.trim() === link.textContent?.trim() ? sup : link)?.replaceWith(mark);
  }
  for (const [, block] of notes) block.remove();
  for (const list of page.body.querySelectorAll(
    '[data-style*="footnote-list"], [data-style*="endnote-list"], ol, ul',
  )) {
    if (notes.length && !list.textContent?.trim() && !list.querySelector("img")) list.remove();
  }
  return notes;
}

/**
 * Make lists of Word's paragraphs, which contain their own bullets and numbers.
 *
 * @param {Document} page
 */
function makeLists(page) {
  /** @type {{ level: number, element: Element }[]} */
  let open = [];
  /** @type {Element | null} */
  let last = null;
  for (const paragraph of page.body.querySelectorAll('[data-style*="mso-list"]')) {
    const [, , digits] = LIST_LEVEL.exec(styleOf(paragraph)) ?? [];
    if (!digits || !/^(?:P|DIV|H\d)$/.test(paragraph.tagName)) continue;
    const level = Math.min(Number(digits), 9);
    const marker = paragraph.querySelector('[data-style*="mso-list:Ignore"], [data-style*="mso-list: Ignore"]');
    const sign = marker?.textContent?.trim() ?? "";
    marker?.remove();
    // Headings can be numbered too. They stay headings.
    if (/^H\d$/.test(paragraph.tagName)) continue;
    if (!last || paragraph.previousElementSibling !== last) open = [];
    while (open.length && open[open.length - 1].level > level) open.pop();
    const kind = NUMBERED.test(sign) ? "ol" : "ul";
    let list = open[open.length - 1];
    if (!list || list.level < level) {
      const element = page.createElement(kind);
      const start = Number.parseInt(sign, 10);
      if (kind === "ol" && start > 1) element.setAttribute("start", String(start));
      const item = list?.element.lastElementChild;
      if (item) item.append(element);
      else paragraph.before(element);
      list = { level, element };
      open.push(list);
    }
    const item = page.createElement("li");
    item.append(...paragraph.childNodes);
    list.element.append(item);
    last = open[0].element;
    paragraph.remove();
  }
  for (const paragraph of page.body.querySelectorAll("p.MsoTitle")) rename(paragraph, "h1");
  for (const summary of page.body.querySelectorAll("summary")) rename(summary, "p");
}

/**
 * Use elements instead of styles for emphasis and code.
 *
 * @param {Document} page
 */
function readStyles(page) {
  for (const element of page.body.querySelectorAll("b, strong")) {
    // Google Docs puts the whole text into <b style="font-weight:normal">.
    if (/^(?:normal|[1-4]00)$/.test(property(element, "font-weight"))) unwrap(element);
  }
  for (const element of page.body.querySelectorAll("i, em")) {
    if (property(element, "font-style") === "normal") unwrap(element);
  }
  for (const element of page.body.querySelectorAll("span, font")) {
    if (!element.textContent?.trim() || element.closest("pre")) continue;
    const family = property(element, "font-family") || (element.getAttribute("face") ?? "");
    const decoration = property(element, "text-decoration") || property(element, "text-decoration-line");
    const position = property(element, "vertical-align");
    const isBold = /^(?:bold|bolder|[6-9]00)$/.test(property(element, "font-weight"));
    const isBlock = element.querySelector(BLOCKS) !== null;
    if (isBlock) continue;
    if (MONOSPACE.test(family) && !element.closest("a, code")) wrapContent(element, "code");
    if (isBold && !element.closest(`th, b, strong, ${HEADINGS}`)) wrapContent(element, "strong");
    if (property(element, "font-style") === "italic" && !element.closest("i, em")) wrapContent(element, "em");
    if (decoration.includes("line-through") && !element.closest("s, del, strike")) wrapContent(element, "del");
    if (/^(?:super|sub)$/.test(position) && !element.closest("sup, sub")) {
      wrapContent(element, position === "super" ? "sup" : "sub");
    }
  }
  for (const pre of page.body.querySelectorAll("pre")) {
    const [, language] = LANGUAGE.exec(`${pre.className} ${pre.parentElement?.className} ${pre.innerHTML}`) ?? [];
    for (const line of pre.querySelectorAll("br")) line.replaceWith("\n");
    const code = page.createElement("code");
    if (language) code.className = `language-${language}`;
    code.textContent = pre.textContent;
    pre.replaceChildren(code);
  }
  for (const heading of page.body.querySelectorAll(HEADINGS)) {
    for (const bold of heading.querySelectorAll("b, strong")) unwrap(bold);
  }
}

/**
 * Repair lists whose items contain paragraphs, or whose sublists are outside of their items.
 *
 * @param {Document} page
 */
function tidyLists(page) {
  for (const list of page.body.querySelectorAll("ul > ul, ul > ol, ol > ul, ol > ol")) {
    const item = list.previousElementSibling;
    if (item?.tagName === "LI") item.append(list);
  }
  for (const item of page.body.querySelectorAll("li")) {
    const paragraphs = [...item.children].filter(({ tagName }) => tagName === "P" || tagName === "DIV");
    if (paragraphs.length === 1) unwrap(paragraphs[0]);
  }
}

/**
 * Prepare tables for Markdown: each cell has one line, and the first row contains the headings.
 *
 * @param {Document} page
 */
function tidyTables(page) {
  // Inner tables come first.
  for (const table of [...page.body.querySelectorAll("table")].reverse()) {
    const rows = [...table.rows];
    const isLayout =
      table.getAttribute("role") === "presentation" ||
      table.querySelector("table") !== null ||
      rows.every((row) => row.cells.length < 2);
    for (const part of table.querySelectorAll("colgroup, col")) part.remove();
    if (isLayout) {
      for (const row of rows) {
        for (const cell of [...row.cells]) rename(cell, "div");
        unwrap(row);
      }
      for (const part of [...table.children]) if (/^T(?:BODY|HEAD|FOOT)$/.test(part.tagName)) unwrap(part);
      rename(table, "div");
      continue;
    }
    for (const row of rows) {
      for (const space of [...row.childNodes]) if (space.nodeType !== Node.ELEMENT_NODE) space.remove();
      for (const cell of row.cells) {
        const blocks = [...cell.querySelectorAll("p, div, li")];
        for (const [number, block] of blocks.entries()) {
          if (number) block.prepend(page.createElement("br"));
        }
        for (const block of cell.querySelectorAll(`${BLOCKS}, li`)) unwrap(block);
      }
    }
    const [first] = rows;
    if (first && !table.tHead) {
      table.createTHead().append(first);
      for (const cell of [...first.cells]) {
        const heading = cell.tagName === "TH" ? cell : rename(cell, "th");
        heading.setAttribute("align", cell.getAttribute("align") ?? "");
        for (const bold of heading.querySelectorAll("b, strong")) unwrap(bold);
      }
    }
  }
}

/** @param {Document} page */
function tidyLinks(page) {
  for (const link of page.body.querySelectorAll("a")) {
    let href = (link.getAttribute("href") ?? "").trim();
    const redirect = REDIRECT.exec(href);
    if (redirect) href = new URLSearchParams(redirect[1]).get("q") ?? href;
    link.setAttribute("href", href);
    // Links within a document, and links to files on a computer, don't work here.
    if (!/^(?:https?:|mailto:|tel:)/i.test(href)) unwrap(link);
  }
}

/**
 * Replace pictures with marks. Pictures on other sites become links, because the site shows only its own pictures.
 *
 * @param {Document} page
 * @returns {Picture[]}
 */
function takePictures(page) {
  /** @type {Picture[]} */
  const pictures = [];
  for (const image of page.body.querySelectorAll("img")) {
    const url = (image.getAttribute("src") ?? "").trim();
    const alt = (image.getAttribute("alt") ?? "").trim();
    if (/^https?:/i.test(url)) {
      // A picture of one pixel counts readers of mails.
      const isTracker = /^[01]$/.test(image.getAttribute("width") ?? "") || !alt;
      if (image.closest("a")) image.replaceWith(alt);
      else if (isTracker) image.remove();
      else {
        const link = page.createElement("a");
        link.href = url;
        link.textContent = alt;
        image.replaceWith(link);
      }
      continue;
    }
    if (!/^(?:data:image\/|file:|blob:|cid:)/i.test(url)) {
      image.replaceWith(alt);
      continue;
    }
    const mark = `\uE000${pictures.length}\uE001`;
    pictures.push({ mark, url, alt });
    image.replaceWith(mark);
  }
  return pictures;
}

/**
 * Leave out the no-break spaces that programs write instead of spaces, and all attributes that aren't needed.
 *
 * @param {Document} page
 */
function tidyText(page) {
  const texts = page.createNodeIterator(page.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const text = /** @type {Text} */ (node);
    text.data = text.data.replace(/(?<=^|[\s\u00a0])\u00a0|\u00a0(?=$|[\s\u00a0])/g, " ");
  }
  for (const element of page.body.querySelectorAll("*")) {
    const isLanguage = element.tagName === "CODE" && /\blanguage-[\w-]+/.test(element.className);
    for (const { name } of [...element.attributes]) {
      if (!KEPT.has(name) && !(name === "class" && isLanguage)) element.removeAttribute(name);
    }
  }
  for (const span of page.body.querySelectorAll("span, font, u, label")) unwrap(span);
  // The site shows the title of a page as its only heading of level 1.
  if (page.body.querySelector("h1")) {
    for (const level of [5, 4, 3, 2, 1]) {
      for (const heading of page.body.querySelectorAll(`h${level}`)) rename(heading, `h${level + 1}`);
    }
  }
  page.body.normalize();
  for (const line of page.body.querySelectorAll("br")) if (!isBetweenTexts(line)) line.remove();
}

/**
 * Return whether a line break has text or a picture on both sides. Other line breaks would be empty paragraphs.
 *
 * @param {Element} line
 */
function isBetweenTexts(line) {
  /** @param {"previousSibling" | "nextSibling"} side */
  const hasText = (side) => {
    /** @type {Node | null} */
    let node = line;
    for (;;) {
      while (node && !node[side]) {
        node = node.parentElement;
        if (!node || /** @type {Element} */ (node).matches(`body, li, td, th, note-body, ${BLOCKS}`)) return false;
      }
      node = node?.[side] ?? null;
      if (!node) return false;
      if (node instanceof Element && node.matches(BLOCKS)) return false;
      if (node.textContent?.trim()) return true;
    }
  };
  return hasText("previousSibling") && hasText("nextSibling");
}

/** @returns {any} */
function makeTurndown() {
  const turndown = new TurndownService({
    headingStyle: "atx",
    hr: "---",
    bulletListMarker: "-",
    codeBlockStyle: "fenced",
    emDelimiter: "*",
  });
  turndown.use(gfm);
  turndown.addRule("item", {
    filter: "li",
    /** @param {string} content @param {HTMLElement} node */
    replacement(content, node) {
      const list = node.parentElement;
      const first = Number(list?.getAttribute("start") || 1);
      const number = first + [...(list?.children ?? [])].indexOf(node);
      const marker = list?.tagName === "OL" ? `${number}. ` : "- ";
      const text = content.trim().replace(/\n(?=[^\n])/g, `\n${" ".repeat(marker.length)}`);
      return `${marker}${text}${node.nextElementSibling ? "\n" : ""}`;
    },
  });
  turndown.addRule("note", { filter: "note-mark", replacement: (/** @type {string} */ content) => `[^${content}]` });
  turndown.addRule("mark", { filter: "mark", replacement: (/** @type {string} */ content) => `==${content}==` });
  for (const [name, sign] of [
    ["sup", "^"],
    ["sub", "~"],
  ]) {
    turndown.addRule(name, {
      filter: name,
      /** @param {string} content */
      replacement: (content) =>
        /^\w{1,40}$/.test(content) ? sign + content + sign : content && `<${name}>${content}</${name}>`,
    });
  }
  turndown.addRule("address", {
    /** @param {HTMLElement} node */
    filter: (node) => node.tagName === "A" && node.getAttribute("href") === node.textContent,
    /** @param {string} _content @param {HTMLElement} node */
    replacement: (_content, node) => `<${node.getAttribute("href")}>`,
  });
  for (const [names, sign] of /** @type {[string[], string][]} */ ([
    [["strong", "b"], "**"],
    [["em", "i"], "*"],
  ])) {
    turndown.addRule(names[0], {
      filter: names,
      /** @param {string} content @param {HTMLElement} node */
      replacement(content, node) {
        if (!content.trim()) return content;
        // Without a space, emphasis can't end after punctuation. This is common in Chinese.
        const isFollowed = /[\p{P}\p{S}]$/u.test(content) && /^[\p{L}\p{N}]/u.test(node.nextSibling?.textContent ?? "");
        return isFollowed ? `<${names[0]}>${content}</${names[0]}>` : sign + content + sign;
      },
    });
  }
  turndown.addRule("line", {
    filter: "br",
    /** @param {string} _content @param {HTMLElement} node */
    replacement: (_content, node) => (node.closest("td, th") ? "<br>" : "\\\n"),
  });
  turndown.keep(["kbd", "abbr"]);
  const escapeMarkdown = turndown.escape.bind(turndown);
  /** @param {string} text */
  turndown.escape = (text) =>
    escapeMarkdown(text)
      .replace(/<(?=[a-z/!?])/gi, "\\<")
      .replace(/&(?=#?\w+;)/g, "\\&")
      .replace(/^:(?=:)/, "\\:")
      .replace(/\$(?=[^\s$][^$]*\$)|==(?=\S)|~(?=\S+~)|\^(?=\S+\^)/g, "\\$&");
  return turndown;
}

/**
 * Convert HTML from the clipboard to Markdown.
 *
 * @param {string} html
 * @param {number} [firstNote] The number of the first footnote.
 * @returns {Converted}
 */
export function toMarkdown(html, firstNote = 1) {
  const page = parseClipboard(html);
  removeUnseen(page);
  const notes = takeFootnotes(page, firstNote);
  const bodies = notes.map(([name, block]) => {
    const body = page.createElement("note-body");
    body.append(...block.childNodes);
    page.body.append(body);
    return { name, body };
  });
  makeLists(page);
  readStyles(page);
  tidyLists(page);
  tidyTables(page);
  tidyLinks(page);
  const pictures = takePictures(page);
  tidyText(page);
  const turndown = makeTurndown();
  const definitions = bodies.map(({ name, body }) => {
    body.remove();
    const text = turndown
      .turndown(body)
      .trim()
      .replace(/\n(?=[^\n])/g, "\n    ");
    return `[^${name}]: ${text}`;
  });
  const text = turndown.turndown(page.body);
  const markdown = [text, ...definitions]
    .join("\n\n")
    .replace(/[ \t]+$/gm, "")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
  return { markdown, pictures };
}

/**
 * Return whether the HTML comes from Word or Outlook. Its picture files show the whole selection instead of its pictures.
 *
 * @param {string} html
 */
export const isFromWord = (html) => FOREIGN_MARKUP.test(html);
