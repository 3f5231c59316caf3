// @ts-check
// Sets up the Markdown editor for the form's text: CodeMirror with the site's toolbar, shortcuts, word count and preview.
// The form still sends the textarea, and autosave.js reads it. Without this script, editors use the textarea.
import {
  Compartment,
  defaultKeymap,
  deleteMarkupBackward,
  EditorState,
  EditorView,
  highlightSpecialChars,
  history,
  historyKeymap,
  insertNewlineContinueMarkupCommand,
  keymap,
  Prec,
  placeholder,
  redo,
  search,
  searchKeymap,
  syntaxHighlighting,
  tagHighlighter,
  tags,
  tooltips,
  undo,
} from "../vendor/codemirror/codemirror.js";
import { blockMenu } from "./blocks.js";
import { footnoteBox, insertFootnote, selectionBubble } from "./bubble.js";
import { control, create, find, parseFragment } from "./dom.js";
import { emphasize } from "./emphasis.js";
import { moveItem, toggleCode, toggleHeading, toggleList, toggleNumberedList, toggleQuote } from "./formatting.js";
import { insertBlock, setEditor, textarea } from "./insertion.js";
import { describeInsert, editInsert, insertChoices, openInserts, startInsert } from "./inserts.js";
import { chooseLink, chooseTypedLink } from "./links.js";
import { liveView, refresh } from "./live_view.js";
import { paragraphKeys } from "./paragraphs.js";
import { photoBox } from "./photo_box.js";
import { hasPicker, pickPhotos } from "./picker.js";
import "./paste.js";
import { joinPhotos } from "./photos_field.js";
import { isPreviewWanted, Preview, rememberPreview } from "./preview.js";
import { recall, remember } from "./storage.js";
import { siteMarkdown } from "./syntax.js";
import { moveCell } from "./tables.js";
import { Targets } from "./targets.js";
import { fromTextarea, TextEditor, trackedRanges } from "./text_editor.js";
import { goToPlace } from "./text_places.js";
import { button, showPressed, toolbar } from "./toolbar.js";
import { showWordCount } from "./word_count.js";

/** @import { Block } from "./blocks.js" */
/** @import { StateCommand } from "@codemirror/state" */
/** @import { KeyBinding, ViewUpdate } from "@codemirror/view" */

// How many milliseconds typing must pause before the words are counted.
const WAIT = 400;
// From this number of characters, the textarea is written only when typing pauses, because browsers take long to set the
// value of a textarea: about 30 ms for 100,000 words.
const LONG = 100_000;
// Whether the editor shows the plain Markdown.
const SOURCE = "marginalia-source";
const IS_MAC = /Mac|iP(hone|ad|od)/.test(navigator.platform);

const insertNewline = insertNewlineContinueMarkupCommand({ nonTightLists: false });

/**
 * Continue a list or quotation on the next line.
 *
 * Enter in an empty item ends the list. It adds a blank line, because the next paragraph would otherwise belong to the
 * last item.
 *
 * @type {StateCommand}
 */
const continueMarkup = ({ state, dispatch }) =>
  insertNewline({
    state,
    dispatch(transaction) {
      const { newDoc, newSelection } = transaction;
      const { from, number, text } = newDoc.lineAt(newSelection.main.head);
      const hasEnded = newDoc.lines <= state.doc.lines && !text && number > 1 && newDoc.line(number - 1).length > 0;
      if (!hasEnded) {
        dispatch(transaction);
        return;
      }
      const changes = transaction.changes.compose(transaction.state.changes({ from, insert: "\n" }));
      dispatch(state.update({ changes, selection: { anchor: from + 1 }, userEvent: "input", scrollIntoView: true }));
    },
  });

/** The classes of the text's syntax, which editor.css styles. */
const classes = tagHighlighter([
  ...[1, 2, 3, 4, 5, 6].map((level) => ({ tag: tags[`heading${level}`], class: `md-heading md-heading-${level}` })),
  { tag: tags.emphasis, class: "md-emphasis" },
  { tag: tags.strong, class: "md-strong" },
  { tag: tags.strikethrough, class: "md-strikethrough" },
  { tag: tags.inserted, class: "md-highlight" },
  { tag: tags.monospace, class: "md-code" },
  { tag: [tags.link, tags.url, tags.labelName, tags.string], class: "md-link" },
  { tag: [tags.quote, tags.processingInstruction, tags.contentSeparator, tags.comment], class: "md-quiet" },
]);

/**
 * Insert typed text that replaces a selection or spans several lines, such as dictated text.
 *
 * If the browser itself inserts such text, it adds inline styles, which the site's CSP forbids.
 */
const plainInput = EditorView.domEventHandlers({
  beforeinput(event, view) {
    if (event.inputType !== "insertText" || event.data === null || event.isComposing) return false;
    if (view.state.selection.main.empty && !event.data.includes("\n")) return false;
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type" });
    return true;
  },
});

/**
 * Insert a table, and select its first heading so that typing replaces the heading.
 *
 * @param {TextEditor} editor
 * @param {any} words
 */
function insertTable(editor, words) {
  const { to } = editor.selection;
  editor.select({ from: to, to });
  const [head, body] = [words.column, words.cell].map((word) => `| ${word} | ${word} |`);
  insertBlock(() => ({ block: `${head}\n| --- | --- |\n${body}`, select: [2, 2 + words.column.length] }));
}

/** Let the editor choose photos, and insert them below each other or as a gallery. */
function insertPhotos() {
  /** @param {import("./picker.js").Photo[]} photos */
  const insert = (photos) => insertBlock(photos.map(({ markdown }) => markdown).join("\n\n"));
  /** @param {import("./picker.js").Photo[]} photos */
  const gallery = (photos) => insertBlock(`::gallery{photos=${joinPhotos(photos)}}`);
  pickPhotos(describeInsert("gallery") ? { insert, gallery } : { insert });
}

/**
 * The Markdown editor in a form: the text between the toolbar and the word count, and the preview next to the text.
 */
class MarkdownEditor {
  #counting = 0;
  #isWriting = false;
  #writing = 0;
  #isUnwritten = false;
  #live = new Compartment();

  /**
   * @param {HTMLFormElement} form
   * @param {HTMLTextAreaElement} text
   * @param {any} words
   * @param {Preview} preview
   */
  constructor(form, text, words, preview) {
    this.form = form;
    this.text = text;
    this.words = words;
    this.preview = preview;
    this.pane = create("div", {
      className: "editor-preview-side",
      role: "region",
      ariaLabel: words.shown,
      hidden: true,
    });
    this.count = create("span", { className: "editor-words" });
    this.keys = create("span", { id: "editor-keys", className: "visually-hidden", textContent: words.keys });
    this.targets = new Targets(words.targets, () => this.editor.view.dispatch({ effects: refresh.of(null) }));
    this.editor = new TextEditor(new EditorView({ doc: text.value, extensions: this.#extensions() }));
    this.toolbar = toolbar(words.tools, this.#buttons());
    this.element = create(
      "div",
      { className: "markdown-editor" },
      this.toolbar,
      create("div", { className: "editor-panes" }, this.editor.view.dom, this.pane),
      create("div", { className: "editor-statusbar" }, this.keys, this.count),
    );
    text.hidden = true;
    text.after(this.element);
    setEditor(text, this.editor);
    this.editor.view.contentDOM.addEventListener("mousedown", () => {
      this.element.classList.add("is-selecting");
      const release = () => this.element.classList.remove("is-selecting");
      window.addEventListener("mouseup", release, { once: true });
    });
    this.editor.view.scrollDOM.addEventListener("mousedown", (event) => this.#clickBelowText(event));
    this.#countWords();
    this.#showState();
    this.#showLive(recall(SOURCE) !== "1");
    this.#showPreview(isPreviewWanted());
  }

  #extensions() {
    return [
      Prec.high(keymap.of(this.#keys())),
      keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap]),
      history(),
      search({ top: true }),
      highlightSpecialChars(),
      siteMarkdown.extension,
      this.#live.of([]),
      syntaxHighlighting(classes),
      EditorView.lineWrapping,
      placeholder(this.words.hint),
      tooltips({ tooltipSpace: () => this.#tooltipSpace() }),
      selectionBubble(this.words.tools, () => this.#formatButtons().flat()),
      footnoteBox(this.words),
      photoBox(() => this.editor, this.words, this.targets),
      blockMenu(
        () => this.#blocks(),
        (position) => this.editor.syntaxAt(position).has("FencedCode"),
      ),
      EditorView.cspNonce.of(this.words.nonce),
      EditorView.contentAttributes.of({
        "aria-label": this.words.text,
        "aria-describedby": this.keys.id,
        spellcheck: "true",
        autocorrect: "on",
        autocapitalize: "sentences",
        writingsuggestions: "true",
      }),
      EditorView.scrollMargins.of(() => this.#scrollMargins()),
      EditorView.updateListener.of((update) => this.#afterUpdate(update)),
      EditorState.phrases.of(this.words.phrases),
      trackedRanges,
      plainInput,
    ];
  }

  /**
   * Return an action for a button that changes the text and then moves the focus back to it.
   *
   * @param {() => void} action
   */
  #inText(action) {
    return () => {
      action();
      this.editor.focus();
    };
  }

  #formatButtons() {
    const { words, editor } = this;
    const ctrl = IS_MAC ? "Cmd-" : "Ctrl-";
    const bold = this.#inText(() => emphasize(editor, "**"));
    const italic = this.#inText(() => emphasize(editor, "*"));
    return [
      [
        button("bold", `${words.bold} (${ctrl}B)`, bold, ["StrongEmphasis"]),
        button("italic", `${words.italic} (${ctrl}I)`, italic, ["Emphasis"]),
        button("link", `${words.link} (${ctrl}K)`, () => chooseLink(editor), ["Link"]),
        button(
          "heading",
          words.heading,
          this.#inText(() => toggleHeading(editor)),
          ["ATXHeading2", "SetextHeading2"],
        ),
      ],
      [
        button(
          "quote",
          words.quote,
          this.#inText(() => toggleQuote(editor)),
          ["Blockquote"],
        ),
        button(
          "unordered",
          words.unordered,
          this.#inText(() => toggleList(editor)),
          ["BulletList"],
        ),
        button(
          "ordered",
          words.ordered,
          this.#inText(() => toggleNumberedList(editor)),
          ["OrderedList"],
        ),
        button(
          "code",
          words.code,
          this.#inText(() => toggleCode(editor)),
          ["InlineCode", "FencedCode"],
        ),
      ],
    ];
  }

  #buttons() {
    const { words, editor } = this;
    return [
      ...this.#formatButtons(),
      [
        ...(hasPicker ? [button("photo", words.photo, insertPhotos)] : []),
        button(
          "table",
          words.table,
          this.#inText(() => insertTable(editor, words)),
        ),
        button("divider", words.divider, () => insertBlock("---")),
        button(
          "footnote",
          words.footnote,
          this.#inText(() => insertFootnote(editor.view)),
        ),
        button("insert", words.insert, openInserts),
      ],
      [
        button(
          "undo",
          words.undo,
          this.#inText(() => undo(editor.view)),
        ),
        button(
          "redo",
          words.redo,
          this.#inText(() => redo(editor.view)),
        ),
      ],
      [
        button("source", words.source, () => {
          this.#showLive(!this.element.classList.contains("live"));
          remember(SOURCE, this.element.classList.contains("live") ? "0" : "1");
          editor.focus();
        }),
        button("preview", words.preview, () => this.#togglePreview()),
        button("fullscreen", words.fullscreen, () => this.#toggleFullScreen()),
        button("help", words.help, () => find(document, "#editor-help", HTMLDialogElement)?.showModal()),
      ],
    ];
  }

  /** @returns {Block[]} */
  #blocks() {
    const { words, editor } = this;
    return [
      { label: words.heading, run: () => toggleHeading(editor) },
      { label: words.subheading, run: () => toggleHeading(editor, 3) },
      { label: words.unordered, run: () => toggleList(editor) },
      { label: words.ordered, run: () => toggleNumberedList(editor) },
      { label: words.quote, run: () => toggleQuote(editor) },
      ...(hasPicker ? [{ label: words.photo, run: insertPhotos }] : []),
      { label: words.table, run: () => insertTable(editor, words) },
      { label: words.code, run: () => toggleCode(editor) },
      { label: words.divider, run: () => insertBlock("---") },
      { label: words.footnote, isInline: true, run: () => insertFootnote(editor.view) },
      ...insertChoices().map(({ name, label, detail }) => ({ label, detail, run: () => startInsert(name) })),
    ];
  }

  /** @returns {KeyBinding[]} */
  #keys() {
    /** @type {Record<string, () => void>} */
    const keys = {
      "Mod-b": () => emphasize(this.editor, "**"),
      "Mod-i": () => emphasize(this.editor, "*"),
      "Mod-k": () => chooseLink(this.editor),
      "Mod-Alt-2": () => toggleHeading(this.editor),
      "Mod-l": () => toggleList(this.editor),
      "Mod-Alt-l": () => toggleNumberedList(this.editor),
      "Mod-'": () => toggleQuote(this.editor),
      F9: () => this.#togglePreview(),
      F11: () => this.#toggleFullScreen(),
    };
    const own = Object.entries(keys).map(([key, act]) => ({
      key,
      preventDefault: true,
      run: () => {
        act();
        return true;
      },
    }));
    return [
      ...own,
      { key: "Enter", run: continueMarkup },
      { key: "Backspace", run: deleteMarkupBackward },
      // In all other places, Tab leaves the text. In lists and tables, Escape and then Tab leaves the text.
      { key: "Tab", run: () => this.#move(1), shift: () => this.#move(-1) },
    ];
  }

  /**
   * Move to another cell of a table, or move a list item.
   *
   * @param {1 | -1} direction
   */
  #move(direction) {
    return moveCell(this.editor, direction) || moveItem(this.editor, direction);
  }

  /** Return the part of the window where boxes don't cover the toolbar. */
  #tooltipSpace() {
    const { bottom } = this.toolbar.getBoundingClientRect();
    return { top: Math.max(0, bottom), left: 0, right: window.innerWidth, bottom: window.innerHeight };
  }

  /**
   * Return how much of the text the toolbar and the form's bar can cover, in pixels.
   *
   * If they don't cover the beginning or the end of the text, return 0, so that CodeMirror shows tooltips there.
   */
  #scrollMargins() {
    if (this.element.classList.contains("fullscreen")) return null;
    const text = this.editor.view.scrollDOM.getBoundingClientRect();
    const tools = this.toolbar.getBoundingClientRect();
    const bar = /** @type {Element} */ (this.form.querySelector(".edit-form-bar")).getBoundingClientRect();
    const end = bar.bottom >= window.innerHeight ? bar.top : window.innerHeight;
    // The toolbar moves to its place above the text as soon as the page scrolls.
    const above = Number.parseFloat(getComputedStyle(this.toolbar).insetBlockStart) || 0;
    return {
      top: text.top >= tools.bottom - 1 ? 0 : above + tools.height + 8,
      bottom: text.bottom <= end ? 0 : window.innerHeight - end + 24,
    };
  }

  /** @param {ViewUpdate} update */
  #afterUpdate(update) {
    const { docChanged, selectionSet, transactions } = update;
    if (docChanged && !transactions.some((transaction) => transaction.annotation(fromTextarea))) {
      this.#isUnwritten = true;
      clearTimeout(this.#writing);
      if (update.state.doc.length < LONG) this.#write();
      else this.#writing = setTimeout(() => this.#write(), WAIT);
      this.#isWriting = true;
      this.text.dispatchEvent(new Event("input", { bubbles: true }));
      this.#isWriting = false;
    }
    if (docChanged) {
      clearTimeout(this.#counting);
      this.#counting = setTimeout(() => this.#countWords(), WAIT);
    }
    if (docChanged || selectionSet) this.#showState();
    if (transactions.some((one) => one.isUserEvent("input.type"))) {
      const { from } = this.editor.selection;
      // The dialog changes the editor, so wait until this update is finished.
      if (this.editor.slice({ from: Math.max(0, from - 1), to: from }) === "[") {
        queueMicrotask(() => chooseTypedLink(this.editor));
      }
    }
  }

  /** @param {MouseEvent} event */
  #clickBelowText(event) {
    const { scrollDOM, state } = this.editor.view;
    if (event.target !== scrollDOM) return;
    event.preventDefault();
    this.editor.select({ from: state.doc.length, to: state.doc.length });
    this.editor.focus();
  }

  #write() {
    if (this.#isUnwritten) this.text.value = this.editor.text;
    this.#isUnwritten = false;
  }

  #showState() {
    showPressed(this.toolbar, this.editor.syntaxAt(this.editor.selection.from));
  }

  #countWords() {
    showWordCount(this.count, this.editor.text, /** @type {any} */ (this.words));
  }

  /** Show the text of the textarea, which another script has changed. */
  read() {
    const { state } = this.editor.view;
    if (this.#isWriting || state.doc.toString() === this.text.value) return;
    clearTimeout(this.#writing);
    this.#isUnwritten = false;
    this.editor.view.dispatch({
      changes: { from: 0, to: state.doc.length, insert: this.text.value },
      annotations: fromTextarea.of(true),
    });
  }

  renderAgain() {
    if (!this.pane.hidden) this.preview.render(this.pane);
  }

  /** @param {boolean} isLive */
  #showLive(isLive) {
    const view = liveView({
      targets: this.targets,
      words: this.words,
      describeInsert,
      editInsert: (_view, position) => editInsert(this.editor, position),
    });
    this.element.classList.toggle("live", isLive);
    this.toolbar.querySelector(".tool-source")?.setAttribute("aria-pressed", String(!isLive));
    const extension = [view, Prec.high(keymap.of(paragraphKeys))];
    this.editor.view.dispatch({ effects: this.#live.reconfigure(isLive ? extension : []) });
  }

  /** @param {boolean} isShown */
  #showPreview(isShown) {
    this.pane.hidden = !isShown;
    this.element.classList.toggle("sided", isShown);
    this.toolbar.querySelector(".tool-preview")?.setAttribute("aria-pressed", String(isShown));
    this.renderAgain();
  }

  #togglePreview() {
    this.#showPreview(this.pane.hidden === true);
    rememberPreview(!this.pane.hidden);
  }

  #toggleFullScreen() {
    const isFull = this.element.classList.toggle("fullscreen");
    document.documentElement.classList.toggle("has-fullscreen", isFull);
    this.toolbar.querySelector(".tool-fullscreen")?.setAttribute("aria-pressed", String(isFull));
    this.editor.focus();
  }

  /**
   * Replace the text in the form's data, because the textarea can lag behind.
   *
   * @param {FormData} data
   */
  complete(data) {
    if (this.#isUnwritten) data.set(this.text.name, this.editor.text);
  }

  remove() {
    clearTimeout(this.#counting);
    clearTimeout(this.#writing);
    this.#write();
    setEditor(this.text, null);
    this.editor.view.destroy();
    this.element.remove();
    this.text.hidden = false;
  }
}

/**
 * List the warnings about the text.
 *
 * An unchanged list is kept, so that screen readers don't repeat it.
 *
 * @param {{ warnings: string }} answer
 */
function showTextWarnings({ warnings }) {
  const list = document.querySelector("#text-warnings");
  if (list && list.innerHTML !== warnings) list.replaceChildren(...parseFragment(warnings));
}

/**
 * @param {HTMLFormElement} form
 * @param {HTMLTextAreaElement} text
 * @param {any} words
 */
function setUp(form, text, words) {
  /** @type {MarkdownEditor | null} */
  let shown = null;
  const preview = new Preview(words, form, showTextWarnings);

  // The preview also depends on the other fields.
  for (const name of ["input", "change"]) form.addEventListener(name, () => shown?.renderAgain());
  // Other scripts also change the textarea, for example when they restore a copy.
  for (const name of ["input", "change"]) text.addEventListener(name, () => shown?.read());
  form.addEventListener("formdata", ({ formData }) => shown?.complete(formData));
  for (const label of text.labels) label.addEventListener("click", () => shown?.editor.focus());

  const format = control(form, "format");
  const update = () => {
    const isMarkdown = !format || format.value === "markdown";
    if (isMarkdown && !shown) {
      preview.reset();
      shown = new MarkdownEditor(form, text, words, preview);
    } else if (!isMarkdown && shown) {
      shown.remove();
      shown = null;
    }
  };
  format?.addEventListener("change", update);
  update();
  // Hide the list of directives, because the menu explains the inserts better.
  const spellings = find(document, ".insert-spellings", HTMLElement);
  if (spellings) spellings.hidden = true;
}

const form = find(document, "#node_form", HTMLFormElement);
const settings = document.querySelector("#editor-settings");
if (form && textarea && settings) setUp(form, textarea, JSON.parse(settings.textContent ?? ""));
goToPlace(location.hash);
