// The Markdown editor of the form's text: toolbar, keys, word count and preview.
// The textarea is still what the form sends and what autosave.js reads. Without this script, editors use the textarea.
(() => {
  "use strict";
  const form = document.getElementById("node_form");
  const text = form?.elements.namedItem("text");
  const settings = document.getElementById("editor-settings");
  if (text?.tagName !== "TEXTAREA" || !settings || !window.EasyMDE) return;
  const words = JSON.parse(settings.textContent);
  const format = form.elements.namedItem("format");
  const BESIDE = "marginalia-beside";
  const WAIT = 400;
  const CTRL = /Mac|iP(hone|ad|od)/.test(navigator.platform) ? "Cmd-" : "Ctrl-";

  const icon = (path) =>
    `<svg viewBox="0 0 24 24" width="18" height="18" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false">${path}</svg>`;
  const ICONS = {
    bold: '<path d="M7 5h6a3.5 3.5 0 0 1 0 7H7zM7 12h7a3.5 3.5 0 0 1 0 7H7z"/>',
    italic: '<path d="M10 5h7M7 19h7M14 5l-4 14"/>',
    heading: '<path d="M6 5v14M18 5v14M6 12h12"/>',
    quote: '<path d="M5 6v12M10 8h10M10 12h10M10 16h6"/>',
    unordered: '<path d="M9 6h11M9 12h11M9 18h11M4.5 6h.01M4.5 12h.01M4.5 18h.01"/>',
    ordered: '<path d="M10 6h10M10 12h10M10 18h10M4 5l1-1v4M4 11h2l-2 3h2M4 17h2v3H4"/>',
    code: '<path d="m9 8-4 4 4 4M15 8l4 4-4 4"/>',
    link: '<path d="M10 14a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6-.5l-3 3a4 4 0 0 0 6 6l1-1"/>',
    photo: '<path d="M4 5h16v14H4zM8 10h.01M4 17l5-4 3 2 4-5 4 5"/>',
    table: '<path d="M4 5h16v14H4zM4 10h16M10 5v14"/>',
    insert: '<path d="M4 4h16v16H4zM12 8v8M8 12h8"/>',
    undo: '<path d="M9 7 5 11l4 4M5 11h9a5 5 0 0 1 0 10h-2"/>',
    redo: '<path d="m15 7 4 4-4 4M19 11h-9a5 5 0 0 0 0 10h2"/>',
    preview: '<path d="M4 5h16v14H4zM12 5v14M15 9h2M15 12h2"/>',
    fullscreen: '<path d="M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5"/>',
    help: '<path d="M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM9.5 9.5a2.5 2.5 0 1 1 3.5 2.3c-.7.3-1 .8-1 1.7M12 17h.01"/>',
  };
  const tool = (name, word, action, more = {}) => ({
    name,
    action,
    className: `tool-${word}`,
    title: words[word],
    icon: icon(ICONS[word]),
    ...more,
  });
  const dialog = (id) => document.getElementById(id);
  const pickPhoto = (editor) =>
    dialog("photo-picker") ? dialog("photo-picker").dispatchEvent(new Event("pick")) : EasyMDE.drawImage(editor);
  const chooseLink = (editor) =>
    dialog("link-dialog")?.dispatchEvent(new CustomEvent("pick", { detail: editor.codemirror })) ??
    EasyMDE.drawLink(editor);
  const toolbar = () => [
    tool("bold", "bold", bold, { title: `${words.bold} (${CTRL}B)` }),
    tool("italic", "italic", italic, { title: `${words.italic} (${CTRL}I)` }),
    tool("heading-2", "heading", EasyMDE.toggleHeading2),
    "|",
    tool("quote", "quote", EasyMDE.toggleBlockquote),
    tool("unordered-list", "unordered", EasyMDE.toggleUnorderedList),
    tool("ordered-list", "ordered", EasyMDE.toggleOrderedList),
    tool("code", "code", EasyMDE.toggleCodeBlock),
    "|",
    tool("link", "link", chooseLink),
    tool("photo", "photo", pickPhoto),
    tool("table", "table", putTable),
    tool("insert", "insert", () => dialog("insert-dialog")?.dispatchEvent(new Event("pick"))),
    "|",
    tool("undo", "undo", EasyMDE.undo, { noDisable: true }),
    tool("redo", "redo", EasyMDE.redo, { noDisable: true }),
    "|",
    tool("side-by-side", "preview", toggleBeside, { noDisable: true }),
    tool("fullscreen", "fullscreen", EasyMDE.toggleFullScreen, { noDisable: true }),
    tool("keys", "help", () => dialog("editor-help")?.showModal(), { noDisable: true }),
  ];

  // Markdown reads marks as emphasis only within a paragraph, and not between a letter and punctuation. The marks around 「“你好。”」
  // would be shown as text. Therefore, each line gets its own marks, inside its spaces, its punctuation and the signs of lists,
  // quotations and headings. If a symbol, a link or code is next to a letter, a hair space separates them.
  const SIGNS = /^(\s*(?:(?:>|[-+*]|\d+[.)]|#{1,6})\s+)*)/;
  const UNITS = /`+[^`]*`+|!?\[[^\]]*\]\([^)]*\)|<\S+?>|\$[^$\s]+\$|\\.|./gu;
  const HAIR = "\u200a";
  const isFree = (outside, inside) => !/^[\p{P}\p{S}]/u.test(inside) || !outside || /^[\s\p{P}\p{S}]/u.test(outside);
  const emphasized = (line, mark, before, after) => {
    const marks = mark === "*" ? /`[^`]*`|(?<![*\\])\*(?!\*)/g : /`[^`]*`|(?<!\\)\*\*/g;
    const signs = before ? "" : line.match(SIGNS)[0];
    const units =
      line
        .slice(signs.length)
        .replace(marks, (found) => (found.startsWith("`") ? found : ""))
        .match(UNITS) || [];
    const isOutside = (unit, outside) => /^\s$/.test(unit) || (/^\p{P}$/u.test(unit) && !isFree(outside, unit));
    let [from, to] = [0, units.length];
    while (from < to && isOutside(units[from], units[from - 1] || before)) from += 1;
    while (from < to && isOutside(units[to - 1], units[to] || after)) to -= 1;
    // The line contains only punctuation.
    if (from === to) [from, to] = [0, units.length];
    const words = units.slice(from, to).join("");
    if (!words.trim()) return [line, "", ""];
    const start = signs + units.slice(0, from).join("");
    const end = units.slice(to).join("");
    const pads = [
      [[...(start || before)].pop(), words],
      [[...(end || after)][0], [...words].pop()],
    ].map((pair) => (isFree(...pair) ? "" : HAIR));
    return [start + pads[0], words, pads[1] + end];
  };
  // Toggles bold or italic for the selection. Without a selection, the marks are inserted around the cursor.
  const emphasize = (editor, name, mark, toggle) => {
    const { codemirror } = editor;
    const [from, to] = [codemirror.getCursor("from"), codemirror.getCursor("to")];
    const chosen = codemirror.getSelection();
    const [before, after] = [codemirror.getLine(from.line).slice(0, from.ch), codemirror.getLine(to.line).slice(to.ch)];
    const select = (ch, { length }) =>
      codemirror.setSelection({ line: from.line, ch }, { line: from.line, ch: ch + length });
    const isMarked = ({ length }) => (mark === "*" ? length % 2 === 1 : length > 1);
    if (chosen && isMarked(before.match(/\**$/)[0]) && isMarked(after.match(/^\**/)[0])) {
      const begin = from.ch - mark.length - (before.at(-mark.length - 1) === HAIR);
      const end = to.ch + mark.length + (after.charAt(mark.length) === HAIR);
      codemirror.replaceRange(chosen, { line: from.line, ch: begin }, { line: to.line, ch: end });
      select(begin, chosen);
      return codemirror.focus();
    }
    if (!chosen || editor.getState()[name]) return toggle(editor);
    const lines = chosen.split("\n");
    const parts = lines.map((line, number) =>
      emphasized(
        line,
        mark,
        number ? "" : [...before].pop() || "",
        number < lines.length - 1 ? "" : [...after][0] || "",
      ),
    );
    const joined = (sign) =>
      parts.map(([start, words, end]) => start + (words && sign + words + sign) + end).join("\n");
    const isSo = joined(mark) === chosen;
    codemirror.replaceSelection(joined(isSo ? "" : mark), "around");
    const [start, words] = parts[0];
    if (!isSo && parts.length === 1 && words) select(from.ch + start.length + mark.length, words);
    return codemirror.focus();
  };
  const bold = (editor) => emphasize(editor, "bold", "**", EasyMDE.toggleBold);
  const italic = (editor) => emphasize(editor, "italic", "*", EasyMDE.toggleItalic);

  // Inserts a block between the paragraphs around the cursor. A function makes the block from the selection; a string keeps the
  // selection as it is. `select`: the range of the block to select. Without it, the cursor is placed below the block.
  const put = (codemirror, made) => {
    if (typeof made === "string") codemirror.setCursor(codemirror.getCursor("to"));
    const { block, select } = typeof made === "string" ? { block: made } : made(codemirror.getSelection());
    const before = codemirror.getRange({ line: 0, ch: 0 }, codemirror.getCursor("from"));
    const gap = !before || before.endsWith("\n\n") ? "" : before.endsWith("\n") ? "\n" : "\n\n";
    const after = codemirror.getRange(codemirror.getCursor("to"), { line: codemirror.lastLine() + 1, ch: 0 });
    codemirror.replaceSelection(
      `${gap}${block}${after.startsWith("\n\n") ? "" : after.startsWith("\n") ? "\n" : "\n\n"}`,
    );
    if (select)
      codemirror.setSelection(...select.map((at) => codemirror.posFromIndex(before.length + gap.length + at)));
    codemirror.focus();
  };
  // The first heading is selected, so typing replaces it.
  const putTable = ({ codemirror }) => {
    codemirror.setCursor(codemirror.getCursor("to"));
    const [column, cell] = [words.column, words.cell].map((word) => `| ${word} | ${word} |`);
    put(codemirror, () => ({ block: `${column}\n| --- | --- |\n${cell}`, select: [2, 2 + words.column.length] }));
  };

  function toggleBeside(editor) {
    EasyMDE.toggleSideBySide(editor);
    try {
      localStorage.setItem(
        BESIDE,
        editor.codemirror.getWrapperElement().classList.contains("CodeMirror-sided") ? "1" : "0",
      );
    } catch {
      // Storage is forbidden. The next form chooses by the width of the window.
    }
  }
  const isBesideWanted = () => {
    try {
      const said = localStorage.getItem(BESIDE);
      if (said !== null) return said === "1";
    } catch {
      // Choose by the width of the window.
    }
    return window.matchMedia("(min-width: 1400px)").matches;
  };

  // The preview of the page, in a frame without scripts. It keeps its scroll position.
  const show = (pane, html) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    for (const needless of page.querySelectorAll("script, .theme-switch")) needless.remove();
    for (const link of page.querySelectorAll("a[href]:not([href^='#'])")) link.target = "_blank";
    page.documentElement.dataset.theme = document.documentElement.dataset.theme || "auto";
    const shown = pane.querySelector("iframe")?.contentDocument;
    if (shown?.querySelector("main")) {
      const { scrollX, scrollY } = shown.defaultView;
      shown.body.replaceWith(shown.adoptNode(page.body));
      shown.defaultView.scrollTo({ left: scrollX, top: scrollY, behavior: "instant" });
      return;
    }
    const frame = document.createElement("iframe");
    frame.title = words.shown;
    frame.setAttribute("sandbox", "allow-same-origin allow-popups allow-popups-to-escape-sandbox");
    frame.srcdoc = `<!doctype html>${page.documentElement.outerHTML}`;
    pane.replaceChildren(frame);
  };

  // The server renders the preview shortly after the last key. One request runs at a time, and the last response is shown.
  const typed = () => {
    const sent = new URLSearchParams([...new FormData(form)].filter(([, value]) => typeof value === "string"));
    sent.set("text", editor ? editor.value() : text.value);
    return sent;
  };
  let asked = null;
  let timer = 0;
  let running = null;
  const render = (_source, pane) => {
    const body = typed();
    if (`${body}` === asked) return null;
    asked = `${body}`;
    clearTimeout(timer);
    timer = setTimeout(
      async () => {
        running?.abort();
        running = new AbortController();
        try {
          const answer = await fetch(words.show, {
            method: "POST",
            body,
            headers: { Accept: "application/json" },
            signal: running.signal,
          });
          if (!answer.ok) throw new Error(answer.status);
          const { html, broken } = await answer.json();
          show(pane, html);
          const list = document.getElementById("broken-references");
          if (list && list.innerHTML !== broken) list.innerHTML = broken;
        } catch (error) {
          if (error.name === "AbortError") return;
          asked = null;
          pane.replaceChildren(Object.assign(document.createElement("p"), { textContent: words.failed }));
        }
      },
      pane.firstChild ? WAIT : 0,
    );
    return null;
  };

  const count = (source) => {
    if (!window.Intl?.Segmenter) return source.split(/\s+/).filter(Boolean).length;
    const found = new Intl.Segmenter(document.documentElement.lang || undefined, { granularity: "word" }).segment(
      source,
    );
    let number = 0;
    for (const part of found) number += part.isWordLike ? 1 : 0;
    return number;
  };
  const tell = (element, source) => {
    const number = count(source);
    const minutes = Math.max(1, Math.round(number / 220));
    element.textContent = `${words.words.replace("%(n)s", number.toLocaleString())} · ${words.minutes.replace("%(n)s", minutes)}`;
  };

  // The toolbar is one Tab stop. The arrow keys move within it.
  const reachable = (bar) => {
    const buttons = [...bar.querySelectorAll("button")];
    bar.setAttribute("role", "toolbar");
    bar.setAttribute("aria-label", words.tools);
    for (const line of bar.querySelectorAll(".separator")) line.setAttribute("aria-hidden", "true");
    const stop = (button) =>
      buttons.forEach((one) => {
        one.tabIndex = one === button ? 0 : -1;
      });
    stop(buttons[0]);
    bar.addEventListener("focusin", (event) => stop(event.target.closest("button")));
    bar.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      buttons[(buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length].focus();
    });
  };

  let editor = null;
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
      previewRender: render,
      promptURLs: false,
      toolbar: toolbar(),
      blockStyles: { italic: "*" },
      unorderedListStyle: "-",
      status: [
        {
          className: "editor-words",
          defaultValue: (element) => tell(element, text.value),
          onUpdate: (element) => {
            clearTimeout(counting);
            counting = setTimeout(() => tell(element, text.value), WAIT);
          },
        },
      ],
    });
    const { codemirror } = editor;
    codemirror.setOption("screenReaderLabel", words.text);
    codemirror.getInputField().setAttribute("aria-label", words.text);
    codemirror.getInputField().setAttribute("aria-multiline", "true");
    codemirror.getInputField().setAttribute("role", "textbox");
    // Text that the browser itself inserts over several lines gets inline styles, which the site's CSP forbids. CodeMirror also
    // reads such text with a delay, which is too late for a form that is sent at once.
    codemirror.getInputField().addEventListener("beforeinput", (event) => {
      if (event.inputType !== "insertText" || event.data === null || event.isComposing) return;
      event.preventDefault();
      codemirror.replaceSelection(event.data, "end", "+input");
    });
    // The Tab key moves to the next field. Ctrl-] and Ctrl-[ indent.
    const own = { B: bold, I: italic, K: chooseLink };
    const keys = { Tab: false, "Shift-Tab": false };
    for (const [key, act] of Object.entries(own)) keys[CTRL + key] = () => act(editor);
    codemirror.setOption("extraKeys", { ...codemirror.getOption("extraKeys"), ...keys });
    codemirror.on("changes", (_cm, [change]) => {
      if (change.origin === "+input" && change.text.join("\n") === "[") linkTyped();
    });
    codemirror.on("change", (_cm, change) => {
      if (change.origin !== "setValue") text.dispatchEvent(new Event("input", { bubbles: true }));
    });
    // CodeMirror caches the positions of lines. They wrap differently when the column's width changes, because the preview opens,
    // or the window or panel is resized.
    let width = 0;
    new ResizeObserver(([{ contentRect }]) => {
      if (contentRect.width === width) return;
      width = contentRect.width;
      codemirror.refresh();
    }).observe(codemirror.getWrapperElement());
    // The text has its full height, and the page scrolls. The cursor stays visible between the toolbar and the form's bar.
    codemirror.on("scrollCursorIntoView", (cm, event) => {
      if (cm.getOption("fullScreen")) return;
      event.preventDefault();
      const [bar, tools] = [form.querySelector(".edit-form-bar"), editor.gui.toolbar].map((one) =>
        one.getBoundingClientRect(),
      );
      const { top, bottom } = cm.cursorCoords(null, "window");
      const [above, below] = [
        tools.bottom - top,
        bottom - (bar.bottom >= window.innerHeight ? bar.top : window.innerHeight),
      ];
      if (above > -8) window.scrollBy({ top: -above - 8, behavior: "instant" });
      else if (below > -24) window.scrollBy({ top: below + 24, behavior: "instant" });
    });
    const pane = codemirror.getWrapperElement().nextSibling;
    pane.setAttribute("role", "region");
    pane.setAttribute("aria-label", words.shown);
    reachable(editor.gui.toolbar);
    asked = null;
    if (isBesideWanted()) EasyMDE.toggleSideBySide(editor);
  };
  // "[[" opens the link dialog, except in code.
  const linkTyped = () => {
    const cm = editor?.codemirror;
    const cursor = cm?.getCursor();
    if (!cm || !/(^|[^[!\\])\[\[$/.test(cm.getRange({ line: cursor.line, ch: 0 }, cursor))) return;
    if (!/comment/.test(cm.getTokenTypeAt(cursor) || "")) chooseLink(editor);
  };
  const end = () => {
    editor.toTextArea();
    editor = null;
  };

  // The preview also depends on the other fields.
  const again = () => {
    const pane = editor?.codemirror.getWrapperElement().nextSibling;
    if (pane?.classList.contains("editor-preview-active-side")) render(editor.value(), pane);
  };
  form.addEventListener("input", again);
  form.addEventListener("change", again);

  // Other scripts also change the textarea: a copy from the browser's storage, or a dropped picture.
  for (const name of ["change", "input"]) {
    text.addEventListener(name, () => {
      if (editor && editor.value() !== text.value) editor.value(text.value);
    });
  }
  text.addEventListener("insert-block", (event) => {
    if (!editor) return;
    event.preventDefault();
    put(editor.codemirror, event.detail);
  });
  for (const label of document.querySelectorAll(`label[for="${text.id}"]`)) {
    label.addEventListener("click", () => editor?.codemirror.focus());
  }

  // Text that is still being composed, in Chinese or Japanese, is accepted before the editor updates the textarea.
  form.addEventListener(
    "submit",
    () => {
      const input = editor?.codemirror.display.input;
      input?.forceCompositionEnd?.();
      input?.pollContent?.();
    },
    true,
  );

  const fits = () => !format || format.value === "markdown";
  format?.addEventListener("change", () => {
    if (fits() && !editor) begin();
    else if (!fits() && editor) end();
  });
  if (fits()) begin();
  // The menu explains the inserts better.
  const spellings = document.querySelector(".insert-spellings");
  if (spellings) spellings.hidden = true;
})();
