"""Two people who edit the same page see each other. Hidden tabs send no requests."""

import re

import pytest
from playwright.sync_api import expect

from cms.testing.build import node
from tests.browser.people import write

HIDDEN = """isHidden => {
    Object.defineProperty(document, 'hidden', { value: isHidden, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
}"""


@pytest.mark.slow
def test_other_editor_appears_while_typing_and_disappears_after_closing(browsing, account):
    ann, bob = browsing(account("ann")), browsing(account("bob"))
    text = "Start.\n\n## What the numbers say\n\nMore books.\n\n## Outlook\n\nBetter."
    address = f"/admin/nodes/node/{node(text=text)}/change/"
    bob.clock.install()
    polls = []
    bob.on("request", lambda request: polls.append(request) if "/presence/" in request.url else None)
    for editor in (ann, bob):
        editor.goto(address)
    note = bob.locator("#presence")
    expect(note).to_have_text("")
    write(ann, text.replace("More books.", "## A new heading\n\nMany more books."))
    expect(ann.locator("#saved-state")).to_contain_text("Backed up")
    bob.clock.run_for(16_000)
    expect(note).to_contain_text(
        re.compile(r"ann is editing this page too\.\s+Last change: .*, in “What the numbers say”")
    )
    expect(note).to_have_attribute("aria-live", "polite")
    bob.evaluate(HIDDEN, True)
    count = len(polls)
    bob.clock.run_for(60_000)
    assert len(polls) == count
    ann.goto("/admin/")
    bob.evaluate(HIDDEN, False)
    expect(note).to_have_text("")
    assert len(polls) == count + 1
