"""Files dropped or pasted on a page: `page.evaluate(GIVE, [".photo-drop", "drop", [given("a.jpg", data)]])`."""

import base64

# Sends files to an element as if they had been dropped or pasted.
GIVE = """([selector, kind, files]) => {
  const transfer = new DataTransfer();
  for (const [name, type, data] of files) {
    transfer.items.add(new File([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))], name, { type }));
  }
  const options = { bubbles: true, cancelable: true };
  const event = kind === "paste" ? new ClipboardEvent(kind, { ...options, clipboardData: transfer })
    : new DragEvent(kind, { ...options, dataTransfer: transfer });
  document.querySelector(selector).dispatchEvent(event);
}"""

# Pastes text into the Markdown editor.
PASTE = """(words) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", words);
  const event = new ClipboardEvent("paste", { bubbles: true, cancelable: true, clipboardData });
  document.querySelector(".cm-content").dispatchEvent(event);
}"""


def given(name: str, data: bytes, type: str = "image/jpeg") -> list[str]:
    """Return a file in the form that GIVE accepts."""
    return [name, type, base64.b64encode(data).decode()]
