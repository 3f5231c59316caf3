// @ts-check
// The menu of blocks, which opens when "/" is typed at the beginning of a line.
import { autocompletion } from "../vendor/codemirror/codemirror.js";

/**
 * A block of the menu. `run` is called when the typed "/" has been removed. An inline block is also offered within a
 * line, as soon as a letter follows the "/".
 *
 * @typedef {{ label: string, detail?: string, isInline?: boolean, run: () => void }} Block
 */

const TYPED = /^\s*\/([\p{L}\d ]*)$/u;
const TYPED_INLINE = /\s\/(\p{L}+)$/u;

/**
 * @param {() => Block[]} blocks
 * @param {(position: number) => boolean} isCode
 */
export function blockMenu(blocks, isCode) {
  return autocompletion({
    icons: false,
    interactionDelay: 0,
    activateOnTypingDelay: 0,
    override: [
      (context) => {
        const line = context.state.doc.lineAt(context.pos);
        const before = context.state.sliceDoc(line.from, context.pos);
        const [, query] = TYPED.exec(before) ?? TYPED_INLINE.exec(before) ?? [];
        if (query === undefined || isCode(context.pos)) return null;
        const offered = TYPED.test(before) ? blocks() : blocks().filter(({ isInline }) => isInline);
        return {
          from: context.pos - query.length,
          validFor: /^[\p{L}\d ]*$/u,
          options: offered.map(({ label, detail, run }, index) => ({
            label,
            detail,
            boost: -index,
            apply(view, _completion, from, to) {
              view.dispatch({ changes: { from: from - 1, to }, userEvent: "input.complete" });
              run();
            },
          })),
        };
      },
    ],
  });
}
