"""The list of nodes: filters, pages, search and bulk actions."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from bson import ObjectId
from django.contrib.auth.models import Group, Permission

from cms.testing.build import EDITOR, PAST, node, nonce, stored
from cms.testing.editors import fields
from marginalia.mongo.clock import now
from nodes.access import System
from nodes.collections import ASSET_FILES
from nodes.content import FILE
from nodes.selectors import lists
from nodes.selectors.lists import Filters
from nodes.services import drafts, editing
from nodes.types import TagChange
from photos.actions import UploadFile
from tests.support.commands import explain, stages
from tests.support.nodes.photo_build import document, gallery, upload

LIST = "/admin/nodes/node/"
PHOTOS = "/admin/nodes/photo/"
FILES = "/admin/nodes/file/"
FUTURE = datetime(2100, 1, 1, tzinfo=UTC)


def titles(person, **query):
    html = person.client.get(LIST, query).content.decode()
    return re.findall(r'/change/">([^<]*)</a>', html)


@pytest.fixture
def site(mongo):
    """A blog with a post in each state, and a page at the top level."""
    blog = node("blog", "blog", title="Blog")
    posts = {
        "live": node("blog-entry", "live", parent=blog, title="Live", tags=("news",)),
        "scheduled": node("blog-entry", "scheduled", parent=blog, title="Scheduled", published=FUTURE),
        "unpublished": node("blog-entry", "unpublished", parent=blog, title="Unpublished", published=None),
        "expired": node("blog-entry", "expired", parent=blog, title="Expired", expires=now() - timedelta(days=1)),
        "drafted": node("blog-entry", "drafted", parent=blog, title="Drafted", text="zebra crossing"),
    }
    drafts.save_draft(EDITOR, posts["drafted"], nonce(posts["drafted"]), {"title": "New title"})
    node(title="Page", author={"_id": ObjectId("a" * 24), "name": "Another"})
    return blog


def test_list_says_which_spelling_was_searched(site, editor):
    html = editor().client.get(LIST, {"q": "zebrra"}).content.decode()
    assert "No results for “<bdi>zebrra</bdi>”." in html
    assert "These are the results for “zebra”." in html
    assert re.findall(r'/change/">([^<]*)</a>', html) == ["Drafted"]


@pytest.mark.slow_after(2)
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, ["Page", "Drafted", "Expired", "Unpublished", "Scheduled", "Live", "Blog"]),
        ({"state": "live"}, ["Page", "Drafted", "Live", "Blog"]),
        ({"state": "scheduled"}, ["Scheduled"]),
        ({"state": "unpublished"}, ["Unpublished"]),
        ({"state": "expired"}, ["Expired"]),
        ({"state": "drafted"}, ["Drafted"]),
        ({"type": "blog"}, ["Blog"]),
        ({"tag": "news"}, ["Live"]),
        ({"section": "top"}, ["Page", "Blog"]),
        ({"q": "zebra"}, ["Drafted"]),
        ({"q": "nothing of that"}, []),
        ({"q": "$where"}, []),
        ({"q": "tag:,"}, []),
        ({"q": "-zebra"}, []),
        ({"q": "tag:news"}, ["Live"]),
        ({"state": "nonsense"}, ["Page", "Drafted", "Expired", "Unpublished", "Scheduled", "Live", "Blog"]),
    ],
)
def test_list_is_filtered_by_state_type_and_words(site, editor, query, expected):
    assert titles(editor(), **query) == expected


def test_empty_list_says_what_to_do(mongo, editor):
    client = editor().client
    for address, empty, filtered in (
        (LIST, "There are no pages yet. Press Add to create the first one.", "No pages match all these filters."),
        (PHOTOS, "There are no photos yet. Upload the first photo above.", "No photos match all these filters."),
        (FILES, "There are no files yet. Upload the first file above.", "No files match all these filters."),
    ):
        assert empty in " ".join(client.get(address).content.decode().split())
        assert filtered in client.get(address, {"state": "live"}).content.decode()


def test_empty_list_offers_no_form_that_the_user_does_not_have(mongo, editor):
    reader = editor("reader", is_superuser=False)
    reader.user.user_permissions.set(Permission.objects.filter(codename__in=["view_photo", "view_node"]))
    for address, empty in ((PHOTOS, "There are no photos yet."), (FILES, "There are no files yet.")):
        html = reader.client.get(address).content.decode()
        assert empty in html
        assert "above" not in html
    html = reader.client.get(LIST).content.decode()
    assert "There are no pages yet." in html
    assert "Press Add" not in html


def test_each_filter_in_use_has_a_chip_that_removes_it(site, editor):
    ann = editor()
    query = {"state": "live", "tag": "<news>", "section": str(site), "author": "unknown", "from": ""}
    page = ann.client.get(LIST, query)
    chips = {chip.label: (chip.value, chip.url) for chip in page.context["chips"]}
    assert set(chips) == {"State", "Tag", "Section"}
    assert chips["Section"][0] == "Blog"
    value, url = chips["State"]
    assert value == "Live"
    assert "state=" not in url
    assert "tag=%3Cnews%3E" in url
    assert "<b>&lt;news&gt;</b>" in page.content.decode()
    assert 'class="chips"' not in ann.client.get(LIST).content.decode()


def test_thumbnails_cost_no_command_once_they_are_cached(mongo, editor, commands):
    ann, photos = editor(), [upload(gallery(f"g{number}")) for number in range(3)]

    def count() -> int:
        with commands.recorded():
            assert ann.client.get(LIST).status_code == 200
        return len(commands.sent)

    for number in range(3):
        node(slug=f"p{number}")
    count()
    without = count()
    for number, photo in enumerate(photos):
        node(slug=f"shown-{number}", **{"detail.picture": photo})
    count()
    assert count() == without
    html = ann.client.get(LIST).content.decode()
    assert len(re.findall(r'<span class="row-picture" aria-hidden="true">\s*<picture', html)) == 3


def test_list_shows_as_live_what_readers_see(site, editor):
    node(slug="inside", title="Inside", parent=node("folder", "closed", published=None))
    html = editor().client.get(LIST).content.decode()
    states = dict(re.findall(r'/change/">([^<]*)</a>.*?<span class="state state-\w+">([^<]*)<', html, re.S))
    assert (states["Live"], states["Scheduled"], states["Inside"]) == ("Live", "Scheduled", "in a hidden section")
    assert states["Unpublished"] == "Draft"
    assert all(f">{state}</option>" in html for state in ("Live", "Draft", "Unpublished changes"))


def test_list_is_filtered_by_section_and_author(site, editor):
    ann = editor()
    assert len(titles(ann, section=str(site))) == 5
    editing.create(editing_actor(ann), type="basic-page", parent_id=None, slug="", title="By Ann")
    assert titles(ann, author=str(ann.user.pk)) == ["By Ann"]
    assert titles(ann, section=str(site), state="live") == ["Drafted", "Live"]


def editing_actor(person):
    from nodes.types import Actor

    return Actor.of(person.user)


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("filters", [Filters(), Filters(state="live"), Filters(state="unpublished")])
def test_pages_lead_forward_and_back(mongo, filters):
    made = [
        node(slug=f"p{i}", published=None if filters.state == "unpublished" else now() - timedelta(days=i // 3))
        for i in range(23)
    ]
    seen, cursor = [], ""
    while True:
        page = lists.page(filters, now(), cursor=cursor, size=5)
        seen.append([row.node.pk for row in page.rows])
        if not page.older:
            break
        cursor = page.older
    assert sorted(sum(seen, [])) == sorted(made)
    back = lists.page(filters, now(), cursor=page.newer, size=5)
    assert [row.node.pk for row in back.rows] == seen[-2]


@pytest.mark.parametrize("cursor", ["x", "<1", "<1.zzz", "<99999999999999999999.aaaaaaaaaaaaaaaaaaaaaaaa"])
def test_invalid_cursor_returns_404(mongo, editor, cursor):
    assert editor().client.get(LIST, {"from": cursor}).status_code == 404


SHAPES = [
    Filters(),
    Filters(section=None),
    Filters(type="blog-entry"),
    Filters(tag="t1"),
    Filters(author=None),
    *(Filters(state=state) for state in lists.STATES),
    Filters(since=datetime(2020, 1, 1, tzinfo=UTC), until=FUTURE),
    Filters(state=lists.LIVE, since=datetime(2020, 1, 1, tzinfo=UTC)),
    *(Filters(state=state, section=None) for state in (lists.LIVE, lists.SCHEDULED, lists.UNPUBLISHED)),
    *(Filters(state=state, type="basic-page") for state in (lists.LIVE, lists.UNPUBLISHED)),
    *(Filters(state=state, tag="t1") for state in (lists.LIVE, lists.UNPUBLISHED)),
    *(Filters(state=state, author=None) for state in (lists.LIVE, lists.UNPUBLISHED)),
]


def test_every_filter_is_an_index_scan_without_sorting(mongo, commands):
    for i in range(60):
        published = (None, FUTURE, now() - timedelta(days=i))[min(i % 4, 2)]
        expires = now() - timedelta(hours=1) if i % 4 == 3 else FUTURE + timedelta(days=1)
        author = {"_id": None, "name": "A"}
        made = node(slug=f"p{i}", published=published, expires=expires, tags=(f"t{i % 2}",), author=author)
        if i % 10 == 0:
            drafts.save_draft(EDITOR, made, nonce(made), {"title": "d"})
    for filters in SHAPES:
        for cursor in ("", lists.page(filters, now(), size=2).older):
            with commands.recorded():
                found = lists.page(filters, now(), cursor=cursor, size=5)
            explained = explain(mongo, commands.sent[0])
            assert not stages(explained) & {"COLLSCAN", "SORT"}, (filters, stages(explained))
            read = explained["executionStats"]["totalDocsExamined"]
            assert read <= 2 * len(found.rows) + 2, (filters, read, len(found.rows))


def test_list_of_files_reads_no_photos(mongo, commands):
    photo = document(upload(gallery()))
    copies = [{**photo, "_id": ObjectId(), "metadata": {**photo["metadata"], "slug": f"copy-{i}"}} for i in range(30)]
    mongo[ASSET_FILES].insert_many(copies)
    UploadFile(user=System("Ann"), gallery_id=None, filename="programme.pdf").execute([b"%PDF-1.7"])
    with commands.recorded():
        found = lists.page(Filters(type=FILE), now(), collection=ASSET_FILES)
    assert [row.node.metadata.title for row in found.rows] == ["programme"]
    plan = explain(mongo, commands.sent[0])
    assert "SORT" not in stages(plan)
    assert plan["executionStats"]["totalDocsExamined"] == 1


def bulk(person, action, *chosen, **more):
    """Run a bulk action on rows as the list showed them, and return the messages."""
    sent = {
        "action": action,
        "chosen": [str(c) for c, _ in chosen],
        **{f"nonce-{c}": str(n) for c, n in chosen},
        **more,
    }
    html = person.client.post(LIST, sent, follow=True).content.decode()
    return " ".join(re.findall(r'<li class="(?:success|warning|error)">(.*?)</li>', html, re.S))


def test_bulk_publish_unpublish_tag_move_and_trash(mongo, editor):
    ann, folder = editor(), node("folder", "folder")
    made = [node(slug=f"p{i}", published=None) for i in range(3)]

    def chosen():
        return [(m, nonce(m)) for m in made]

    assert "“Publish”: 3 pages changed." in bulk(ann, "publish", *chosen())
    assert all(stored(m)["published"] <= now() for m in made)
    assert "3 pages changed" in bulk(ann, "unpublish", *chosen())
    assert all(stored(m)["published"] is None for m in made)
    assert "3 pages changed" in bulk(ann, "tag", *chosen(), tags="x, y")
    bulk(ann, "untag", *chosen(), tags="x")
    assert all(stored(m)["tags"] == ["y"] for m in made)
    assert "Choose a section" in bulk(ann, "move", *chosen())
    assert "3 pages changed" in bulk(ann, "move", *chosen(), target=str(folder))
    assert all(stored(m)["parent_id"] == folder for m in made)
    assert "3 pages changed" in bulk(ann, "trash", *chosen(), confirmed="1")
    assert mongo["cms.trash"].count_documents({}) == 3


def test_bulk_publish_keeps_past_dates_and_revives_expired(mongo, editor):
    ann = editor()
    public, expired = node(slug="public"), node(slug="expired", expires=now() - timedelta(days=1))
    assert "2 pages changed" in bulk(ann, "publish", *[(m, nonce(m)) for m in (public, expired)])
    assert stored(public)["published"] == stored(expired)["published"] == PAST
    assert stored(expired)["expires"].year == 9999


def test_filters_by_date(mongo, editor):
    node(slug="old", title="Old", published=datetime(2021, 5, 1, tzinfo=UTC))
    node(slug="new", title="New", published=datetime(2021, 5, 2, 23, 30, tzinfo=UTC))
    ann = editor()
    assert titles(ann, state="live", since="2021-05-02") == ["New"]
    assert titles(ann, state="live", until="2021-05-01") == ["Old"]
    assert titles(ann, state="live", since="2021-05-01", until="2021-05-02") == ["New", "Old"]
    assert titles(ann, since="2021-05-01", until="2021-05-02") == [], "changed today"
    assert titles(ann, state="unpublished", since="2021-05-01") == []


def test_bulk_action_names_conflicts_and_does_the_rest(mongo, editor):
    ann, one, other = editor(), node(slug="one", title="One"), node(slug="other", title="Other")
    chosen = [(one, nonce(one)), (other, nonce(other))]
    editing.save(EDITOR, one, nonce(one), {"title": "Changed"})
    told = bulk(ann, "trash", *chosen, confirmed="1")
    assert "1 page changed" in told
    assert "Changed</a>: Another editor changed this page" in told
    assert mongo["cms.trash"].find_one()["_id"] == other


def test_bulk_publish_during_an_edit_loses_nothing(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    made = [node(slug=f"p{i}", published=None, text="text") for i in range(2)]
    address = f"/admin/nodes/node/{made[1]}/change/"
    form = bob.open(address)
    assert "2 pages changed" in bulk(ann, "publish", *[(m, nonce(m)) for m in made])
    assert bob.send(address, form, text="Bob's text").status_code == 302
    assert stored(made[1])["detail"]["text"] == "Bob's text"
    assert all(stored(m)["published"] for m in made)


def test_bulk_publish_refuses_pages_changed_since_the_list(mongo, editor):
    ann = editor()
    made = [node(slug=f"p{i}", title=f"Page {i}", published=None) for i in range(2)]
    seen = [(m, nonce(m)) for m in made]
    editing.save(EDITOR, made[0], nonce(made[0]), {"detail.text": "saved between list and button"})
    told = bulk(ann, "publish", *seen)
    assert "1 page changed" in told
    assert "Page 0</a>: This item has changed since you opened this page" in told
    assert [stored(m)["published"] is None for m in made] == [True, False]
    assert "1 page changed" in bulk(ann, "publish", (made[0], nonce(made[0]))), "once it was shown"


def test_bulk_publish_sent_twice_is_done_once(mongo, editor):
    ann, page = editor(), node(published=None)
    seen = (page, nonce(page))
    assert "1 page changed" in bulk(ann, "publish", seen)
    published = stored(page)
    assert "1 page changed" in bulk(ann, "publish", seen), "it is public already"
    assert stored(page) == published


def test_bulk_publish_lists_drafts_it_does_not_publish(mongo, editor):
    ann = editor()
    drafted, _planned, due, _plain = made = [node(slug=f"p{i}", title=f"Page {i}") for i in range(4)]
    for page in made[:3]:
        draft = drafts.save_draft(EDITOR, page, nonce(page), {"title": "Typed"}).nonce
        if page != drafted:
            drafts.schedule(EDITOR, page, draft, now() + timedelta(days=1))
    mongo["cms.nodes"].update_one({"_id": due}, {"$set": {"draft.due": now()}})
    told = bulk(ann, "publish", *[(m, nonce(m)) for m in made])
    assert "2 pages changed" in told
    assert all(
        f"Page {i}</a>: This page is already public. To publish its draft, open the page." in told for i in range(2)
    )
    assert [stored(m)["title"] for m in made] == ["Page 0", "Page 1", "Typed", "Page 3"]
    assert mongo["cms.nodes"].count_documents({"draft": {"$exists": True}}) == 2


def test_count_stops_at_its_limit(mongo, monkeypatch):
    monkeypatch.setattr(lists, "COUNTED", 2)
    counts = []
    for number in range(5):
        node(slug=f"page-{number}", tags=("a",))
        counts.append(lists.count(Filters(tag="a"), ObjectId(), now()))
    assert counts == [1, 2, 3, 3, 3]


def test_bulk_tagging_changes_no_nonce(mongo):
    made = node()
    seen = nonce(made)
    editing.change_tags(made, TagChange(added=frozenset({"a"})))
    assert nonce(made) == seen


def test_bulk_trash_asks_with_counts_and_can_be_undone(mongo, editor):
    ann, folder, page = editor(), node("folder", "folder", title="Folder"), node(slug="page", title="Page")
    for i in range(2):
        node("folder" if i else "basic-page", f"in-{i}", parent=folder)
    node(slug="deeper", parent=mongo["cms.nodes"].find_one({"metadata.slug": "in-1"})["_id"])
    chosen = [(m, nonce(m)) for m in (folder, page)]
    sent = {"action": "trash", "chosen": [str(folder), str(page)], **{f"nonce-{m}": str(n) for m, n in chosen}}
    html = ann.client.post(LIST, sent).content.decode()
    assert "Move 2 pages to trash?" in html
    assert "3 items in these sections" in html
    assert mongo["cms.trash"].count_documents({}) == 0
    told = bulk(ann, "trash", *chosen, **{k: v[0] for k, v in fields(html, "confirm_form").items() if k == "confirmed"})
    assert mongo["cms.trash"].count_documents({}) == 2
    undo = re.search(r'formaction="([^"]+)" name="items" value="([^"]+)"', told)
    assert ann.client.get(undo[1]).status_code == 405
    told = ann.client.post(undo[1], {"items": undo[2]}, follow=True).content.decode()
    assert "2 items restored." in told
    assert [nonce(m) for m, _ in chosen] == [n for _, n in chosen]
    assert "no longer in the trash" in ann.client.post(undo[1], {"items": undo[2]}, follow=True).content.decode()
    assert ann.client.post(undo[1], {"items": "x:y"}).status_code == 404


def test_undo_restores_a_section_before_its_contents(mongo, editor):
    ann, folder = editor(), node("folder", "folder")
    blog = node("blog", "blog", parent=folder)
    thrown = [(one, nonce(one)) for one in (node("blog-entry", "post", parent=blog), blog, folder)]
    told = bulk(ann, "trash", *thrown, confirmed="1")
    undo = re.search(r'formaction="([^"]+)" name="items" value="([^"]+)"', told)
    assert "3 items restored." in ann.client.post(undo[1], {"items": undo[2]}, follow=True).content.decode()


def test_trash_is_paged(mongo, editor, monkeypatch):
    monkeypatch.setattr("nodes.selectors.trash.SHOWN", 2)
    ann, pages = editor(), [node(slug=f"page-{n}", title=f"Page {n}") for n in range(3)]
    for page in pages:
        bulk(ann, "trash", (page, nonce(page)), confirmed="1")
    first = ann.client.get("/admin/nodes/node/trash/").content.decode()
    assert re.findall(r">(Page \d)<", first) == ["Page 2", "Page 1"]
    older = re.search(r'href="(\?after=\w+)"', first)[1]
    rest = ann.client.get(f"/admin/nodes/node/trash/{older}").content.decode()
    assert (re.findall(r">(Page \d)<", rest), "?after=" in rest) == (["Page 0"], False)


def test_undo_needs_permission_to_trash(mongo, editor):
    ann, author = editor(), editor("arthur", is_superuser=False)
    page = node(slug="page")
    bulk(ann, "trash", (page, seen := nonce(page)), confirmed="1")
    author.client.post("/admin/nodes/node/undo/", {"items": f"{page}:{seen}"})
    assert mongo["cms.trash"].count_documents({}) == 1


def test_undo_refuses_a_place_taken_meanwhile(mongo, editor):
    ann, page = editor(), node(slug="page", title="First")
    bulk(ann, "trash", (page, seen := nonce(page)), confirmed="1")
    node(slug="page", title="Second")
    told = ann.client.post("/admin/nodes/node/undo/", {"items": f"{page}:{seen}"}, follow=True).content.decode()
    assert "“First” could not be restored" in told
    assert mongo["cms.trash"].count_documents({}) == 1


def test_batches_are_reported_together_with_one_undo(mongo, editor):
    """The requests of the script: batches that announce more, then the plain form with their results."""
    ann = editor()
    made = [node(slug=f"p{i}", title=f"Page {i}") for i in range(5)]
    seen = {m: nonce(m) for m in made}
    editing.save(EDITOR, made[1], seen[made[1]], {"title": "Changed since"})
    so_far = ""
    for batch in (made[:2], made[2:4]):
        sent = {"action": "trash", "confirmed": "1", "chosen": [str(m) for m in batch], "more": "1", "so_far": so_far}
        answer = ann.client.post(LIST, {**sent, **{f"nonce-{m}": str(seen[m]) for m in batch}})
        so_far = answer.json()["so_far"]
    assert "messages" not in answer.cookies
    told = bulk(ann, "trash", (made[4], seen[made[4]]), confirmed="1", so_far=so_far)
    assert "4 pages changed" in told
    assert "Changed since" in told
    items = re.search(r'name="items" value="([^"]+)"', told)[1]
    assert "4 items restored." in ann.client.post(f"{LIST}undo/", {"items": items}, follow=True).content.decode()


def test_batch_results_are_accepted_only_from_their_user(mongo, editor):
    ann, bob, page = editor(), editor("bob"), node()
    sent = {"action": "publish", "chosen": [str(page)], f"nonce-{page}": str(nonce(page))}
    so_far = ann.client.post(LIST, {**sent, "more": "1"}).json()["so_far"]
    assert "1 page changed" in bulk(ann, "publish", so_far=so_far)
    assert bob.client.post(LIST, {**sent, "so_far": so_far}).status_code == 403
    assert ann.client.post(LIST, {**sent, "so_far": so_far[:-1] + "!"}).status_code == 403


def test_author_filter_is_queried_by_an_index_for_editors(mongo, editor, commands):
    ann = editor()
    author = editor("author", is_superuser=False)
    author.user.groups.add(Group.objects.get(name="Authors"))
    for person, asked in ((ann, 1), (author, 0)):
        for address in (LIST, "/admin/nodes/node/add/?type=basic-page"):
            with commands.recorded():
                assert person.client.get(address).status_code == 200
            queries = [event for event in commands.sent if event.command.get("aggregate") == "auth_user"]
            queries = [event for event in queries if "is_staff" in str(event.command["pipeline"][0])]
            assert len(queries) == asked, (address, queries)
            for event in queries:
                plan = explain(mongo, event)
                assert "staff_by_username" in str(plan), plan
                assert "SORT" not in stages(plan)
