// @ts-check
// Small boxes in the text: the formatting of a selection, and the footnote of the mark at the caret.
import { isolateHistory, StateField, showTooltip, syntaxTree } from "../vendor/codemirror/codemirror.js";
import { create } from "./dom.js";
import { gapAfter } from "./insertion.js";
import { refresh } from "./live_view.js";

/** @import { EditorState } from "@codemirror/state" */
/** @import { EditorView, Tooltip } from "@codemirror/view" */

/**
 * Return an extension that shows a tooltip. `make` returns the tooltip for a state, or null.
 *
 * @param {(state: EditorState) => Tooltip | null} make
 */
export const tooltip = (make) =>
  StateField.define({
    create: make,
    update: (shown, { docChanged, effects, selection, state }) =>
      docChanged || selection || effects.some((effect) => effect.is(refresh)) ? make(state) : shown,
    provide: (field) => showTooltip.from(field),
  });

/**
 * Show the formatting of selected text.
 *
 * @param {string} label
 * @param {() => HTMLButtonElement[]} buttons
 */
export function selectionBubble(label, buttons) {
  const above = !window.matchMedia("(pointer: coarse)").matches;
  return tooltip(({ doc, selection: { main } }) => {
    if (!doc.sliceString(main.from, main.to).trim()) return null;
    return {
      pos: main.from,
      end: main.to,
      above,
      create() {
        const own = buttons();
        // The toolbar above the text is the way for the keyboard.
        for (const button of own) button.tabIndex = -1;
        return { dom: create("div", { className: "md-bubble", role: "toolbar", ariaLabel: label }, ...own) };
      },
    };
  });
}

/**
 * Return the position of a footnote's text, or -1 if there is none.
 *
 * @param {EditorState} state
 * @param {string} mark
 */
function findFootnote({ doc }, mark) {
  for (let number = doc.lines; number > 0; number -= 1) {
    const { from, text } = doc.line(number);
    if (text.startsWith(`${mark}:`)) return from + mark.length + 1;
  }
  return -1;
}

/**
 * Begin a footnote's text at the end of the text, and place the caret in it.
 *
 * @param {EditorView} view
 * @param {string} mark
 * @param {number} [at] Where to insert the mark in the same undo step. Without `at`, the mark is in the text already.
 */
function beginFootnote(view, mark, at) {
  const { doc } = view.state;
  const before = at === doc.length ? mark : doc.sliceString(Math.max(0, doc.length - 2));
  const note = `${gapAfter(before)}${mark}: `;
  const changes = view.state.changes([
    ...(at === undefined ? [] : [{ from: at, insert: mark }]),
    { from: doc.length, insert: note },
  ]);
  view.dispatch({
    changes,
    selection: { anchor: changes.newLength },
    annotations: isolateHistory.of("full"),
    userEvent: "input",
    scrollIntoView: true,
  });
}

/**
 * Insert a footnote with the next free number after the selection, and place the caret in the footnote's text.
 *
 * @param {EditorView} view
 */
export function insertFootnote(view) {
  const used = new Set([...view.state.doc.toString().matchAll(/\[\^(\d+)\]/g)].map(([, number]) => Number(number)));
  let number = 1;
  while (used.has(number)) number += 1;
  beginFootnote(view, `[^${number}]`, view.state.selection.main.to);
}

/**
 * Show the text of a footnote beside its mark, with a button that places the caret in it.
 *
 * @param {{ editNote: string, writeNote: string }} words
 */
export const footnoteBox = (words) =>
  tooltip((state) => {
    const { main } = state.selection;
    const node = syntaxTree(state).resolveInner(main.head, main.empty ? -1 : 0);
    if (!main.empty || node.name !== "FootnoteReference") return null;
    const mark = state.sliceDoc(node.from, node.to);
    const at = findFootnote(state, mark);
    return {
      pos: node.from,
      create(view) {
        const text =
          at < 0
            ? ""
            : view.state.doc
                .lineAt(at)
                .text.slice(mark.length + 1)
                .trim();
        const button = create("button", {
          type: "button",
          className: "button",
          textContent: at < 0 ? words.writeNote : words.editNote,
        });
        button.addEventListener("click", () => {
          if (at < 0) beginFootnote(view, mark);
          else view.dispatch({ selection: { anchor: view.state.doc.lineAt(at).to }, scrollIntoView: true });
          view.focus();
        });
        return { dom: create("div", { className: "md-note-box" }, create("span", { textContent: text }), button) };
      },
    };
  });
