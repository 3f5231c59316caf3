// An address of the site itself that is pasted into a text becomes a link by number, which follows its page wherever it moves.
// The address is pasted first, as it is: undoing the link gives it back, and where the server does not answer it stays.
(() => {
  "use strict";
  const text = document.getElementById("id_text");
  const source = document.getElementById("node_form")?.dataset.links;
  if (!text || !source) return;

  const own = (pasted) => {
    if (/\s/.test(pasted) || !pasted.startsWith(`${location.origin}/`)) return null;
    const address = new URL(pasted);
    return address.search ? null : address;
  };

  const asked = async (address) => {
    try {
      const answer = await fetch(`${source}?address=${encodeURIComponent(address.pathname)}`, { headers: { Accept: "application/json" } });
      return answer.ok ? await answer.json() : {};
    } catch {
      return {};
    }
  };

  const paste = async (cm, address, pasted) => {
    const from = cm.getCursor("from");
    const chosen = cm.getSelection();
    // Where the address of a link is expected, its words are there already.
    const inLink = /\]\(<?$/.test(cm.getRange({ line: from.line, ch: 0 }, from));
    cm.replaceSelection(pasted, "around", "paste");
    const mark = cm.markText(cm.getCursor("from"), cm.getCursor("to"));
    cm.setCursor(cm.getCursor("to"));
    const { ref, title } = await asked(address);
    const place = mark.find();
    mark.clear();
    // What was typed over it since stays.
    if (!ref || !place || cm.getRange(place.from, place.to) !== pasted) return;
    const words = chosen && !chosen.includes("\n") ? chosen : title.replace(/[\\`*_[\]<>&]/g, "\\$&");
    const target = ref + address.hash;
    cm.replaceRange(inLink ? target : `[${words}](${target})`, place.from, place.to, "*link");
  };

  // The editor stands beside the textarea, in its place: listened to before it hears of it.
  text.parentElement.addEventListener("paste", (event) => {
    const cm = event.target.closest(".CodeMirror")?.CodeMirror;
    const pasted = event.clipboardData?.getData("text/plain").trim() || "";
    const address = cm && own(pasted);
    // Code stays as it is, and so does HTML, where an address stands in quotes.
    if (!address || /comment|string|tag/.test(cm.getTokenTypeAt(cm.getCursor("from")) || "") && !cm.getSelection()) return;
    event.preventDefault();
    event.stopPropagation();
    paste(cm, address, pasted);
  }, true);
})();
