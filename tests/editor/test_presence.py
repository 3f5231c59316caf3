"""Editors of a page see who else is editing it. The working copies of these editors contain all that is shown."""

from datetime import timedelta

import pytest
from bson import ObjectId
from django.contrib.auth.models import Group

from cms.testing.build import node
from marginalia.mongo.clock import now
from nodes.collections import WORKING_COPIES

KEEP = "/admin/nodes/node/keep-typed/"


def change(node_id):
    return f"/admin/nodes/node/{node_id}/change/"


def seen(person, node_id):
    answer = person.client.get(f"/admin/nodes/node/{node_id}/presence/")
    assert answer.status_code == 200
    return answer.content.decode()


def keep(person, node_id, copy=None, seq=1, **more):
    """Send what the script of a form sends while someone types, and return the id of the working copy."""
    copy = copy or ObjectId()
    sent = {
        "_copy": copy,
        "_seq": seq,
        "_user": person.user.pk,
        "_node": node_id,
        "type": "basic-page",
        "text": "typed",
    }
    assert person.client.post(KEEP, {**sent, **more}).status_code == 200
    return copy


def test_other_editor_is_shown_with_the_time_and_the_heading(mongo, editor):
    ann, bob, node_id = editor("ann"), editor("bob"), node()
    assert "is editing this page too" not in seen(bob, node_id)
    keep(ann, node_id, _heading="What the <numbers> say")
    for html in (seen(bob, node_id), bob.client.get(change(node_id)).content.decode()):
        assert "ann is editing this page too." in html
        assert "in “What the &lt;numbers&gt; say”" in html
        assert "Last change: " in html


def test_own_tabs_and_other_pages_are_not_shown(mongo, editor):
    ann, bob, node_id = editor("ann"), editor("bob"), node()
    keep(ann, node_id)
    keep(bob, node(slug="other"))
    assert "is editing" not in seen(ann, node_id)


def test_editor_with_two_tabs_is_shown_once(mongo, editor):
    ann, bob, node_id = editor("ann"), editor("bob"), node()
    keep(ann, node_id, _heading="First")
    keep(ann, node_id, _heading="Second")
    html = seen(bob, node_id)
    assert html.count("ann is editing this page too.") == 1
    assert "Second" in html


def test_editor_who_saved_is_no_longer_shown(mongo, editor):
    ann, bob, node_id = editor("ann"), editor("bob"), node()
    form = ann.open(change(node_id))
    keep(ann, node_id, form["_copy"][0])
    assert "ann is editing" in seen(bob, node_id)
    assert ann.send(change(node_id), form, text="saved", _seq="2").status_code == 302
    assert "ann is editing" not in seen(bob, node_id)


@pytest.mark.parametrize("closing", ["_leave", "_closed"])
def test_editor_who_closed_the_form_is_no_longer_shown(mongo, editor, closing):
    ann, bob, node_id = editor("ann"), editor("bob"), node()
    copy = keep(ann, node_id, seq=2)
    keep(ann, node_id, copy, seq=1, **{closing: "1"})
    assert "ann is editing" in seen(bob, node_id), "a late request must not hide an editor who came back"
    keep(ann, node_id, copy, seq=3, **{closing: "1"})
    assert "ann is editing" not in seen(bob, node_id)
    # The typed text is kept.
    assert dict(mongo[WORKING_COPIES].find_one()["fields"])["text"] == "typed"
    keep(ann, node_id, copy, seq=4)
    assert "ann is editing" in seen(bob, node_id)


def test_editor_without_a_change_for_half_an_hour_is_no_longer_shown(mongo, editor):
    ann, bob, node_id = editor("ann"), editor("bob"), node()
    keep(ann, node_id)
    for minutes, is_shown in ((29, True), (31, False)):
        mongo[WORKING_COPIES].update_one({}, {"$set": {"updated": now() - timedelta(minutes=minutes)}})
        assert ("ann is editing" in seen(bob, node_id)) is is_shown


def test_only_people_with_permission_to_edit_the_page_see_its_editors(mongo, editor):
    ann, node_id, own = editor("ann"), node(), node(slug="own")
    author = editor("jo", is_superuser=False)
    author.user.groups.add(Group.objects.get(name="Authors"))
    mongo["cms.nodes"].update_one({"_id": own}, {"$set": {"metadata.author": {"_id": author.user.pk, "name": "Jo"}}})
    for each in (node_id, own):
        keep(ann, each)
    assert "ann is editing" in seen(author, own)
    assert seen(author, node_id) == seen(author, ObjectId())
    mongo["cms.nodes"].delete_one({"_id": own})
    assert "ann" not in seen(author, own)
    moderator = editor("mo", is_superuser=False)
    moderator.user.groups.add(Group.objects.get(name="Moderators"))
    assert moderator.client.get(f"/admin/nodes/node/{own}/presence/").status_code == 403


def test_heading_is_short_and_on_one_line(mongo, editor):
    ann, bob, node_id = editor("ann"), editor("bob"), node()
    keep(ann, node_id, _heading="a \n b" + "x" * 1_000)
    assert mongo[WORKING_COPIES].find_one()["heading"] == "a b" + "x" * 95
    assert "x" * 96 not in seen(bob, node_id)


def test_poll_reads_one_small_document_and_writes_nothing(mongo, editor, commands):
    ann, bob, node_id = editor("ann"), editor("bob"), node()
    seen(bob, node_id)
    with commands.recorded():
        seen(bob, node_id)
    # Every page reads the session, the account and the site's settings.
    shared = {"django_session", "auth_user", "cms.site"}
    collections = [event.command[event.command_name] for event in commands.sent]
    assert [collection for collection in collections if collection not in shared] == [WORKING_COPIES]
    assert commands.written == set()
    keep(ann, node_id)
    with commands.recorded():
        seen(bob, node_id)
    assert commands.written == set()
    read = [event.command for event in commands.sent if event.command.get("find") == WORKING_COPIES]
    assert [set(command["projection"]) for command in read] == [{"editor", "heading", "updated"}]
