// @ts-check
// The Markdown editor for the form's text: EasyMDE with the site's buttons, keyboard shortcuts, word count and preview.
// The form still sends the textarea, and autosave.js reads it. Without this script, editors use the textarea.
import { control, find } from "./dom.js";
import { emphasize } from "./emphasis.js";
import { insertBlock, setEditor, textarea } from "./insertion.js";
import { openInserts } from "./inserts.js";
import { chooseLink, chooseTypedLink } from "./links.js";
import { hasPicker, pickPhoto } from "./picker.js";
import { isPreviewWanted, Preview, rememberPreview } from "./preview.js";
import { button, makeReachable } from "./toolbar.js";
import { showWordCount } from "./word_count.js";

// How many milliseconds typing must pause before the words are counted.
const WAIT = 400;
const { EasyMDE } = window;
const CTRL = /Mac|iP(hone|ad|od)/.test(navigator.platform) ? "Cmd-" : "Ctrl-";

/** @param {any} editor */
const bold = (editor) => emphasize(editor, "bold", "**", EasyMDE.toggleBold);

/** @param {any} editor */
const italic = (editor) => emphasize(editor, "italic", "*", EasyMDE.toggleItalic);

/** @param {any} editor */
function link(editor) {
  if (!chooseLink(editor.codemirror)) EasyMDE.drawLink(editor);
}

/** @param {any} editor */
function photo(editor) {
  if (hasPicker) pickPhoto();
  else EasyMDE.drawImage(editor);
}

/** @param {any} editor */
function togglePreview(editor) {
  EasyMDE.toggleSideBySide(editor);
  rememberPreview(editor.codemirror.getWrapperElement().classList.contains("CodeMirror-sided"));
}

/**
 * Insert a table, and select its first heading so that typing replaces the heading.
 *
 * @param {any} editor
 * @param {Record<string, string>} words
 */
function insertTable({ codemirror }, words) {
  codemirror.setCursor(codemirror.getCursor("to"));
  const [head, body] = [words.column, words.cell].map((word) => `| ${word} | ${word} |`);
  insertBlock(() => ({ block: `${head}\n| --- | --- |\n${body}`, select: [2, 2 + words.column.length] }));
}

/** @param {Record<string, string>} words */
const toolbar = (words) => [
  button("bold", "bold", `${words.bold} (${CTRL}B)`, bold),
  button("italic", "italic", `${words.italic} (${CTRL}I)`, italic),
  button("heading-2", "heading", words.heading, EasyMDE.toggleHeading2),
  "|",
  button("quote", "quote", words.quote, EasyMDE.toggleBlockquote),
  button("unordered-list", "unordered", words.unordered, EasyMDE.toggleUnorderedList),
  button("ordered-list", "ordered", words.ordered, EasyMDE.toggleOrderedList),
  button("code", "code", words.code, EasyMDE.toggleCodeBlock),
  "|",
  button("link", "link", words.link, link),
  button("photo", "photo", words.photo, photo),
  button("table", "table", words.table, (editor) => insertTable(editor, words)),
  button("insert", "insert", words.insert, openInserts),
  "|",
  button("undo", "undo", words.undo, EasyMDE.undo, { noDisable: true }),
  button("redo", "redo", words.redo, EasyMDE.redo, { noDisable: true }),
  "|",
  button("side-by-side", "preview", words.preview, togglePreview, { noDisable: true }),
  button("fullscreen", "fullscreen", words.fullscreen, EasyMDE.toggleFullScreen, { noDisable: true }),
  button("keys", "help", words.help, () => find(document, "#editor-help", HTMLDialogElement)?.showModal(), {
    noDisable: true,
  }),
];

/**
 * Describe the field to screen readers.
 *
 * @param {any} codemirror
 * @param {string} label
 */
function describe(codemirror, label) {
  const field = codemirror.getInputField();
  codemirror.setOption("screenReaderLabel", label);
  field.setAttribute("aria-label", label);
  field.setAttribute("aria-multiline", "true");
  field.setAttribute("role", "textbox");
}

/**
 * Insert typed text as plain text.
 *
 * If the browser itself inserts text that spans several lines, it adds inline styles, which the site's CSP forbids.
 * CodeMirror also reads such text after a delay, which is too late if the form is submitted immediately.
 *
 * @param {any} codemirror
 */
function insertTypedText(codemirror) {
  codemirror.getInputField().addEventListener("beforeinput", (/** @type {InputEvent} */ event) => {
    if (event.inputType !== "insertText" || event.data === null || event.isComposing) return;
    event.preventDefault();
    codemirror.replaceSelection(event.data, "end", "+input");
  });
}

/**
 * Let the Tab key move to the next field. Ctrl-] and Ctrl-[ change the indentation.
 *
 * @param {any} editor
 */
function setKeys(editor) {
  /** @type {Record<string, false | (() => void)>} */
  const keys = { Tab: false, "Shift-Tab": false };
  for (const [key, act] of Object.entries({ B: bold, I: italic, K: link })) keys[CTRL + key] = () => act(editor);
  editor.codemirror.setOption("extraKeys", { ...editor.codemirror.getOption("extraKeys"), ...keys });
}

/**
 * Let CodeMirror measure its lines again when the column's width changes.
 *
 * CodeMirror caches the positions of lines, but lines wrap differently if the preview opens, or if the window or the panel
 * is resized.
 *
 * @param {any} codemirror
 */
function followWidth(codemirror) {
  let width = 0;
  new ResizeObserver(([{ contentRect }]) => {
    if (contentRect.width === width) return;
    width = contentRect.width;
    codemirror.refresh();
  }).observe(codemirror.getWrapperElement());
}

/**
 * Show the text at its full height, and let the page scroll.
 *
 * The cursor remains visible between the toolbar and the form's bar.
 *
 * @param {any} editor
 * @param {HTMLFormElement} form
 */
function keepCursorVisible(editor, form) {
  editor.codemirror.on("scrollCursorIntoView", (/** @type {any} */ cm, /** @type {Event} */ event) => {
    if (cm.getOption("fullScreen")) return;
    event.preventDefault();
    const bar = /** @type {Element} */ (form.querySelector(".edit-form-bar")).getBoundingClientRect();
    const tools = editor.gui.toolbar.getBoundingClientRect();
    const { top, bottom } = cm.cursorCoords(null, "window");
    const above = tools.bottom - top;
    const below = bottom - (bar.bottom >= window.innerHeight ? bar.top : window.innerHeight);
    if (above > -8) window.scrollBy({ top: -above - 8, behavior: "instant" });
    else if (below > -24) window.scrollBy({ top: below + 24, behavior: "instant" });
  });
}

/**
 * @param {HTMLFormElement} form
 * @param {HTMLTextAreaElement} text
 * @param {Record<string, string>} words
 */
function setUp(form, text, words) {
  /** @type {any} */
  let editor = null;
  const paneOf = () => editor.codemirror.getWrapperElement().nextSibling;
  const typed = () => {
    const fields = [...new FormData(form)].filter(([, value]) => typeof value === "string");
    const sent = new URLSearchParams(/** @type {[string, string][]} */ (fields));
    sent.set("text", editor ? editor.value() : text.value);
    return sent;
  };
  const preview = new Preview(/** @type {any} */ (words), typed);
  /** @param {HTMLElement} element */
  const count = (element) => showWordCount(element, text.value, /** @type {any} */ (words));

  const begin = () => {
    let counting = 0;
    editor = new EasyMDE({
      element: text,
      autoDownloadFontAwesome: false,
      spellChecker: false,
      nativeSpellcheck: true,
      inputStyle: "contenteditable",
      forceSync: true,
      sideBySideFullscreen: false,
      indentWithTabs: false,
      minHeight: "22rem",
      previewClass: ["editor-preview"],
      syncSideBySidePreviewScroll: false,
      previewRender: (/** @type {string} */ _source, /** @type {HTMLElement} */ pane) => {
        preview.render(pane);
        return null; // EasyMDE expects null if the pane is filled later.
      },
      promptURLs: false,
      toolbar: toolbar(words),
      blockStyles: { italic: "*" },
      unorderedListStyle: "-",
      status: [
        {
          className: "editor-words",
          defaultValue: count,
          onUpdate: (/** @type {HTMLElement} */ element) => {
            clearTimeout(counting);
            counting = setTimeout(() => count(element), WAIT);
          },
        },
      ],
    });
    const { codemirror } = editor;
    setEditor(codemirror);
    describe(codemirror, words.text);
    insertTypedText(codemirror);
    setKeys(editor);
    followWidth(codemirror);
    keepCursorVisible(editor, form);
    codemirror.on("changes", (/** @type {any} */ cm, /** @type {any[]} */ [change]) => {
      if (change.origin === "+input" && change.text.join("\n") === "[") chooseTypedLink(cm);
    });
    codemirror.on("change", (/** @type {any} */ _cm, /** @type {any} */ change) => {
      if (change.origin !== "setValue") text.dispatchEvent(new Event("input", { bubbles: true }));
    });
    paneOf().setAttribute("role", "region");
    paneOf().setAttribute("aria-label", words.shown);
    makeReachable(editor.gui.toolbar, words.tools);
    preview.reset();
    if (isPreviewWanted()) EasyMDE.toggleSideBySide(editor);
  };
  const end = () => {
    editor.toTextArea();
    editor = null;
    setEditor(null);
  };

  // The preview also depends on the other fields.
  const renderAgain = () => {
    if (editor && paneOf()?.classList.contains("editor-preview-active-side")) preview.render(paneOf());
  };
  form.addEventListener("input", renderAgain);
  form.addEventListener("change", renderAgain);

  // Other scripts also change the textarea, for example when they restore a copy or insert a dropped picture.
  for (const name of ["change", "input"]) {
    text.addEventListener(name, () => {
      if (editor && editor.value() !== text.value) editor.value(text.value);
    });
  }
  for (const label of text.labels) label.addEventListener("click", () => editor?.codemirror.focus());

  // Accept text that is still being composed, in Chinese or Japanese, before the editor updates the textarea.
  form.addEventListener(
    "submit",
    () => {
      const input = editor?.codemirror.display.input;
      input?.forceCompositionEnd?.();
      input?.pollContent?.();
    },
    true,
  );

  const format = control(form, "format");
  const isMarkdown = () => !format || format.value === "markdown";
  format?.addEventListener("change", () => {
    if (isMarkdown() && !editor) begin();
    else if (!isMarkdown() && editor) end();
  });
  if (isMarkdown()) begin();
  // Hide the list of directives, because the menu explains the inserts better.
  const spellings = find(document, ".insert-spellings", HTMLElement);
  if (spellings) spellings.hidden = true;
}

const form = find(document, "#node_form", HTMLFormElement);
const settings = document.querySelector("#editor-settings");
if (form && textarea && settings && EasyMDE) setUp(form, textarea, JSON.parse(settings.textContent));
