// The parts of CodeMirror that the admin's scripts use. `make vendor` bundles them in static/vendor/codemirror/codemirror.js,
// and TypeScript reads the types of the bundle from this file.

export { autocompletion } from "@codemirror/autocomplete";
export {
  defaultKeymap,
  history,
  historyKeymap,
  isolateHistory,
  redo,
  redoDepth,
  undo,
  undoDepth,
} from "@codemirror/commands";
export {
  deleteMarkupBackward,
  insertNewlineContinueMarkupCommand,
  markdownLanguage,
} from "@codemirror/lang-markdown";
export {
  ensureSyntaxTree,
  Language,
  syntaxHighlighting,
  syntaxTree,
} from "@codemirror/language";
export { openSearchPanel, search, searchKeymap } from "@codemirror/search";
export {
  Annotation,
  Compartment,
  EditorSelection,
  EditorState,
  Prec,
  RangeSetBuilder,
  StateEffect,
  StateField,
  Transaction,
} from "@codemirror/state";
export {
  Decoration,
  EditorView,
  highlightSpecialChars,
  keymap,
  placeholder,
  showTooltip,
  tooltips,
  ViewPlugin,
  WidgetType,
} from "@codemirror/view";
export { tagHighlighter, tags } from "@lezer/highlight";
