"""The number of commands that frequent actions send to MongoDB."""

from cms.testing.build import node, nonce
from nodes.actions import CreateNode, SaveDraft, SaveNode, Tag
from nodes.types import TagChange


def test_commands_of_frequent_actions(mongo, commands, publisher):
    page = node()
    place = {"title": "New", "slug": "new", "parent_id": None}
    tags = TagChange(added=frozenset({"new"}))
    sent = {}
    for name, prepare in {
        "create": lambda: CreateNode(user=publisher, type="basic-page", fields=place),
        "save": lambda: SaveNode(user=publisher, node_id=page, seen=nonce(page), fields={"title": "Saved"}),
        "save known words": lambda: SaveNode(user=publisher, node_id=page, seen=nonce(page), fields={"title": "New"}),
        "save the draft": lambda: SaveDraft(user=publisher, node_id=page, seen=nonce(page), fields={"title": "Draft"}),
        "tag": lambda: Tag(user=publisher, node_id=page, tags=tags),
    }.items():
        action = prepare()
        publisher.has_perm("nodes.publish_node")
        with commands.recorded():
            action.execute()
        sent[name] = len(commands)
    # One command reads the site's language, because the text is too short to guess its language. A request has read the
    # site anyway. Two commands store words that are new to the site.
    assert sent == {"create": 8, "save": 8, "save known words": 6, "save the draft": 4, "tag": 4}
