// @ts-check
// The menu of blocks, which opens when "/" is typed at the beginning of a line.
import { autocompletion } from "../vendor/codemirror/codemirror.js";

/**
 * A block of the menu. `run` is called when the typed "/" has been removed.
 *
 * @typedef {{ label: string, detail?: string, run: () => void }} Block
 */

const TYPED = /^\s*\/([\p{L}\d ]*)$/u;

/**
 * @param {() => Block[]} blocks
 * @param {(position: number) => boolean} isCode
 */
export function blockMenu(blocks, isCode) {
  return autocompletion({
    icons: false,
    interactionDelay: 0,
    override: [
      (context) => {
        const line = context.state.doc.lineAt(context.pos);
        const found = TYPED.exec(context.state.sliceDoc(line.from, context.pos));
        if (!found || isCode(context.pos)) return null;
        const from = context.pos - found[1].length;
        return {
          from,
          validFor: /^[\p{L}\d ]*$/u,
          options: blocks().map(({ label, detail, run }, index) => ({
            label,
            detail,
            boost: -index,
            apply(view, _completion, _from, to) {
              view.dispatch({ changes: { from: from - 1, to }, userEvent: "input.complete" });
              run();
            },
          })),
        };
      },
    ],
  });
}
