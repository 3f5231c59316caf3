// Links in a text, chosen in a dialog or pasted. An address of the site becomes a link by id, which still works after its page
// moves.
//
// The address is pasted unchanged first. Undo restores it, and it stays if the server does not respond.
(() => {
  "use strict";
  const text = document.getElementById("id_text");
  const source = document.getElementById("node_form")?.dataset.links;
  if (!text || !source) return;

  const escaped = (title) => title.replace(/[\\`*_[\]<>&]/g, "\\$&");
  const own = (pasted) => {
    if (/\s/.test(pasted) || !pasted.startsWith(`${location.origin}/`)) return null;
    const address = new URL(pasted);
    return address.search ? null : address;
  };

  const asked = async (address) => {
    try {
      const answer = await fetch(`${source}?address=${encodeURIComponent(address.pathname)}`, {
        headers: { Accept: "application/json" },
      });
      return answer.ok ? await answer.json() : {};
    } catch {
      return {};
    }
  };

  const paste = async (cm, address, pasted) => {
    const from = cm.getCursor("from");
    const chosen = cm.getSelection();
    // At the address of a link, its text already exists.
    const inLink = /\]\(<?$/.test(cm.getRange({ line: from.line, ch: 0 }, from));
    cm.replaceSelection(pasted, "around", "paste");
    const mark = cm.markText(cm.getCursor("from"), cm.getCursor("to"));
    cm.setCursor(cm.getCursor("to"));
    const { ref, title } = await asked(address);
    const place = mark.find();
    mark.clear();
    // If the editor has changed the text meanwhile, it stays.
    if (!ref || !place || cm.getRange(place.from, place.to) !== pasted) return;
    const words = chosen && !chosen.includes("\n") ? chosen : escaped(title);
    const target = ref + address.hash;
    cm.replaceRange(inLink ? target : `[${words}](${target})`, place.from, place.to, "*link");
  };

  // The editor's element follows the textarea. This listener runs before those of the editor.
  text.parentElement.addEventListener(
    "paste",
    (event) => {
      const cm = event.target.closest(".CodeMirror")?.CodeMirror;
      const pasted = event.clipboardData?.getData("text/plain").trim() || "";
      const address = cm && own(pasted);
      const words = cm?.getSelection() || "";
      // A web address that is pasted over words becomes their link.
      if (
        !address &&
        /^https?:\/\/\S+$/.test(pasted) &&
        words.trim() &&
        !/[\n[\]`]|:\/\//.test(words) &&
        !/comment|string|tag|link/.test(cm.getTokenTypeAt(cm.getCursor("to")) || "")
      ) {
        event.preventDefault();
        event.stopPropagation();
        cm.replaceSelection(
          `[${words}](${pasted.replace(/[()<>]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)})`,
          "end",
          "paste",
        );
        return;
      }
      // Code and HTML stay unchanged, because addresses in HTML are quoted.
      if (!address || (/comment|string|tag/.test(cm.getTokenTypeAt(cm.getCursor("from")) || "") && !cm.getSelection()))
        return;
      event.preventDefault();
      event.stopPropagation();
      paste(cm, address, pasted);
    },
    true,
  );

  const dialog = document.getElementById("link-dialog");
  const box = document.getElementById("link-target");
  let place = null;
  let chosen = null;

  // The link at the cursor, which the dialog changes.
  const around = (cm) => {
    const { line, ch } = cm.getCursor();
    const found = [...cm.getLine(line).matchAll(/(?<!!)\[((?:[^[\]\\]|\\.)*)\]\(([^()\s]*)\)/g)];
    const link = cm.somethingSelected()
      ? null
      : found.find(({ 0: all, index }) => index < ch && ch < index + all.length);
    return (
      link && {
        from: { line, ch: link.index },
        to: { line, ch: link.index + link[0].length },
        words: link[1],
        target: link[2],
      }
    );
  };
  const put = (cm, { from, to }, choice) => {
    const anchor =
      /^(node|photo):/.test(choice.ref) && box.value.includes("#")
        ? box.value.trim().slice(box.value.trim().indexOf("#"))
        : "";
    const target = (choice.ref + anchor).replace(/[\s()<>]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
    const isBare = !place.words && choice.title === choice.ref;
    const words =
      place.words || escaped(isBare ? choice.title.replace(/^(https?:\/\/|mailto:|tel:)/, "") : choice.title);
    cm.replaceRange(`[${words}](${target})`, from, to, "*link");
    // An address has no title. Its placeholder text is selected, so typing replaces it.
    if (isBare)
      cm.setSelection({ line: from.line, ch: from.ch + 1 }, { line: from.line, ch: from.ch + 1 + words.length });
    else cm.setCursor(cm.posFromIndex(cm.indexFromPos(from) + words.length + target.length + 4));
  };
  dialog?.addEventListener("pick", ({ detail: cm }) => {
    const cursor = cm.getCursor();
    const isTyped = cm.getRange({ line: cursor.line, ch: cursor.ch - 2 }, cursor) === "[[" && !cm.somethingSelected();
    const link = isTyped ? { from: { line: cursor.line, ch: cursor.ch - 2 }, to: cursor, words: "" } : around(cm);
    const selected = cm.getSelection();
    // A link cannot span paragraphs.
    const {
      from,
      to,
      words,
      target = "",
    } = link ||
    (/\n\s*\n/.test(selected)
      ? { from: cm.getCursor("to"), to: cm.getCursor("to"), words: "" }
      : { from: cm.getCursor("from"), to: cm.getCursor("to"), words: selected });
    place = { cm, words, mark: cm.markText(from, to, { clearWhenEmpty: false }) };
    chosen = null;
    box.value = target;
    dialog.showModal();
    box.select();
    box.dispatchEvent(new Event("look"));
  });
  box?.addEventListener("chosen", ({ detail }) => {
    chosen = detail;
    dialog.close();
  });
  dialog?.addEventListener("close", () => {
    const found = place.mark.find();
    place.mark.clear();
    if (chosen && found) put(place.cm, found, chosen);
    place.cm.focus();
  });
})();
