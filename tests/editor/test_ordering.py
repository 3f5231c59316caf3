"""The page on which editors order a section: typed places, arrows, and concurrent changes."""

import re

import pytest
from bson import ObjectId

from cms.testing.build import EDITOR, node, nonce, save, stored
from cms.testing.editors import fields
from editor import ordering as view
from nodes.models import tree
from nodes.selectors import by_hand
from nodes.services import ordering, trash


@pytest.fixture
def chapters(chapters):
    """The ids of the chapters a to e. Chapter c is not published."""
    save(chapters[2], nonce(chapters[2]), published=None)
    return chapters


def address(section) -> str:
    return f"/admin/nodes/node/{section}/order/"


def shown(person, section, query: str = "") -> dict:
    """Return the data that the form would send."""
    response = person.client.get(address(section) + query)
    assert response.status_code == 200
    return fields(response.content.decode(), "order_form")


def order(section) -> str:
    return "".join(one.metadata.slug for one in by_hand.all_nodes(section, size=100)[0])


def send(person, section, form, **typed):
    return person.client.post(address(section), {**form, **typed}, follow=True)


def test_pages_are_ordered_by_typed_places(editor, book, chapters):
    ann = editor()
    form = shown(ann, book)
    assert [form[f"place-{one}"] for one in chapters] == [["1"], ["2"], ["3"], ["4"], ["5"]]
    page = send(ann, book, form, **{f"place-{chapters[4]}": "2"})
    assert "The order was saved." in page.content.decode()
    assert order(book) == "aebcd"
    send(ann, book, shown(ann, book), **{f"place-{chapters[0]}": "3"})
    assert order(book) == "ebacd"
    send(ann, book, shown(ann, book), **{f"place-{chapters[3]}": "1.5", f"place-{chapters[2]}": "-4"})
    assert order(book) == "cedba"


def test_arrows_move_a_page_after_applying_typed_places(editor, book, chapters):
    ann = editor()
    form = shown(ann, book)
    answer = ann.client.post(address(book), {**form, "up": str(chapters[2])})
    assert answer["Location"] == f"{address(book)}#node-{chapters[2]}"
    assert order(book) == "acbde"
    send(ann, book, shown(ann, book), down=str(chapters[0]))
    assert order(book) == "cabde"
    send(ann, book, shown(ann, book), down=str(chapters[4]))
    send(ann, book, shown(ann, book), up=str(chapters[2]))
    assert order(book) == "cabde"
    send(ann, book, shown(ann, book), **{f"place-{chapters[4]}": "1", "down": str(chapters[2])})
    assert order(book) == "eacbd"


def test_order_keeps_changes_by_other_editors(editor, book, chapters):
    ann, bob = editor("ann"), editor("bob")
    form = shown(ann, book)
    send(bob, book, shown(bob, book), **{f"place-{chapters[4]}": "1"})
    trash.trash(EDITOR, chapters[3], nonce(chapters[3]))
    node("chapter", "f", parent=book)
    page = send(ann, book, form, up=str(chapters[2])).content.decode()
    assert "1 page is no longer in this section." in page
    assert order(book) == "eacbf"


def test_long_section_has_pages_and_buttons_to_its_ends(editor, book, chapters, monkeypatch):
    ann = editor()
    assert not re.search(r'name="(start|end)"', ann.client.get(address(book)).content.decode())
    monkeypatch.setattr(view, "SIZE", 2)
    html = ann.client.get(address(book)).content.decode()
    query = re.search(r'href="(\?from=[^"]+)"', html)[1]
    form = shown(ann, book, query)
    assert form["seen"] == [f"{chapters[2]},{chapters[3]}"]
    send(ann, book, form, **{f"place-{chapters[3]}": "1"})
    assert order(book) == "abdce"
    send(ann, book, shown(ann, book, query), start=str(chapters[3]))
    assert order(book) == "dabce"
    send(ann, book, shown(ann, book), end=str(chapters[3]))
    assert order(book) == "abced"
    assert ann.client.get(address(book) + "?from=nothing").status_code == 404


def test_invalid_order_moves_nothing(editor, book, chapters):
    ann, form = editor(), None
    elsewhere = node("chapter", "elsewhere", parent=node("handbook", "other"))
    for typed in ("", "x", "nan", "inf", "1e999", "$gt"):
        form = shown(ann, book)
        send(ann, book, form, **{f"place-{chapters[1]}": typed})
        assert order(book) == "abcde"
    for sent in ({"up": "$gt"}, {"seen": "$gt"}, {"start": ""}, {"end": "0"}):
        assert ann.client.post(address(book), {**form, **sent}).status_code == 404
    assert ann.client.post(address(book), {}).status_code == 302
    for button in ("up", "down", "start", "end"):
        send(ann, book, {**form, "seen": f"{chapters[0]},{elsewhere},{ObjectId()}"}, **{button: str(elsewhere)})
    send(ann, book, {**form, "seen": f"{chapters[1]},{chapters[1]}"})
    assert order(book) == "abcde"
    assert by_hand.all_nodes(stored(elsewhere)["parent_id"], size=5)[0][0].pk == elsewhere


def test_order_is_offered_only_in_sections_without_dates(editor, book, chapters):
    ann, blog = editor(), node("blog", "blog")
    link = 'href="/admin/nodes/node/{}/order/"'
    assert link.format(book) in ann.client.get(f"/admin/nodes/node/{book}/change/").content.decode()
    for other in (blog, chapters[0]):
        assert link.format(other) not in ann.client.get(f"/admin/nodes/node/{other}/change/").content.decode()
        assert ann.client.get(address(other))["Location"] == f"/admin/nodes/node/{other}/change/"
        assert ann.client.post(address(other), {"seen": ""})["Location"] == f"/admin/nodes/node/{other}/change/"


def test_folder_is_sorted_by_name_until_it_is_arranged(editor, client, mongo):
    ann, folder = editor(), node("folder", "folder")
    a, b = (node(slug=slug, parent=folder) for slug in "ab")
    inner = node("folder", "0", parent=folder)

    def seen() -> list[str]:
        return re.findall(r'<h2><a href="/folder/(\w)"', client.get("/folder").content.decode())

    assert seen() == ["a", "b", "0"]
    assert "sorted by name" in ann.client.get(address(folder)).content.decode()
    send(ann, folder, shown(ann, folder), up=str(b))
    assert seen() == ["0", "b", "a"]
    assert [section.id for section in tree.current().children[folder]] == [inner]
    node(slug="1", parent=folder)
    assert seen() == ["0", "b", "a", "1"]
    form = shown(ann, folder)
    assert "Sort by name" in ann.client.get(address(folder)).content.decode()
    page = send(ann, folder, form, by_name="1").content.decode()
    assert "This section is sorted by name again." in page
    assert seen() == ["1", "a", "b", "0"]
    assert mongo["cms.nodes"].count_documents({"position": {"$exists": True}}) == 0
    assert "arranged" not in mongo["cms.nodes"].find_one({"_id": folder})
    assert order(folder) == "01ab"


def test_section_that_is_always_arranged_keeps_its_order(editor, book, chapters):
    ann = editor()
    ordering.move_to_start(book, chapters[4])
    assert "Sort by name" not in ann.client.get(address(book)).content.decode()
    page = ann.client.post(address(book), {"by_name": "1"}, follow=True).content.decode()
    assert "Sections of this type are always sorted manually." in page
    assert order(book) == "eabcd"


def test_readers_see_the_new_order_at_once(editor, client, book, chapters):
    ann = editor()
    for wanted in ("abde", "eabd"):
        assert [one.metadata.slug for one in client.get("/book").context["pages"]] == list(wanted)
        send(ann, book, shown(ann, book), **{f"place-{chapters[4]}": "0"})


def test_viewing_the_order_writes_nothing(mongo, editor, book, chapters):
    mongo["cms.nodes"].update_many({}, {"$unset": {"position": ""}})
    before = list(mongo["cms.nodes"].find())
    assert order(book) == "abcde"
    shown(editor(), book)
    assert list(mongo["cms.nodes"].find()) == before
    ordering.move_to_start(book, chapters[4])
    assert order(book) == "eabcd"
