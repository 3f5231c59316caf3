"""Files dropped or pasted on a page: `give(page, ".photo-drop", "drop", [given("a.jpg", data)])`."""

import base64

from playwright.sync_api import Page

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


def give(page: Page, selector: str, kind: str, files: list[list[str]]) -> None:
    """Drop or paste files on the element that `selector` finds.

    Scripts listen only once the page has loaded: an element can be visible before.
    """
    page.wait_for_load_state()
    page.evaluate(GIVE, [selector, kind, files])


def given(name: str, data: bytes, type: str = "image/jpeg") -> list[str]:
    """Return a file in the form that `give` accepts."""
    return [name, type, base64.b64encode(data).decode()]
