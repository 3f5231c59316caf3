"""Two editors at their browsers."""

from playwright.sync_api import expect

from tests.nodes.build import node, stored


def change(node_id):
    return f"/admin/nodes/node/{node_id}/change/"


def test_disjoint_edits_both_survive(browsing, account):
    ann, bob = browsing(account("ann")), browsing(account("bob"))
    node_id = node(title="Old", text="one\n\ntwo\n\nthree")
    for editor in (ann, bob):
        editor.goto(change(node_id))
    bob.fill("#id_text", "one\n\ntwo\n\nthree of Bob")
    bob.fill("#id_title", "Bob's title")
    bob.click("[name=_continue]")
    ann.fill("#id_text", "one of Ann\n\ntwo\n\nthree")
    ann.click("[name=_continue]")
    expect(ann.locator(".messagelist")).to_contain_text("Merged with the changes of bob to: Title, Text")
    assert stored(node_id)["title"] == "Bob's title"
    assert stored(node_id)["detail"]["text"] == "one of Ann\n\ntwo\n\nthree of Bob"
