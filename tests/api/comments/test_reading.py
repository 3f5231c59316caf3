"""Discussions in API responses: every order and page, threads, single comments, counts."""

from urllib.parse import quote

from pydantic import TypeAdapter

from api.comments import shapes
from api.rights.scopes import Scope
from cms.testing import build
from marginalia.comments.posting import services
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, Order
from nodes.services import editing
from tests.api.comments.conftest import MISSING, Writer, of, said
from tests.support.comments import site
from tests.support.nodes import photo_build


def threads(target):
    """Post seven comments in three threads, and return them."""
    posted = []
    for number, answered in enumerate((None, None, 0, 2, 0, 1, None)):
        parent = posted[answered].slug if answered is not None else ""
        author = {"author": CommentAuthor("Bea", url="https://bea.example"), "email": "bea@example.org"}
        what = {**author, "source": f"Said **{number}**", "token": f"t{number}", "parent": parent}
        posted.append(services.post(target, **what).comment)
    return posted


def walk(asker, path, direction="next", cursor=""):
    """Return the slugs of all pages from a cursor on, in the order of the pages."""
    pages = []
    while cursor is not None:
        more = f"&cursor={quote(cursor)}" if cursor else ""
        page = said(asker.get(f"{path}{more}"))
        pages.append([one["slug"] for one in page["items"]])
        cursor = page[direction]
    return pages


def test_every_order_lists_each_comment_once_both_ways(visitor, discussed):
    threads(discussed)
    oldest = [one.slug for one in selectors.iterate(discussed)]
    wanted = {
        Order.OLDEST: oldest,
        Order.NEWEST: oldest[::-1],
        Order.THREADED: [one.slug for one in selectors.iterate(discussed, order=Order.THREADED)],
    }
    for order, slugs in wanted.items():
        path = f"{of(discussed)}?limit=3&order={order}"
        there = walk(visitor, path)
        assert [slug for page in there for slug in page] == slugs, order
        assert max(map(len, there)) == 3
        last = said(visitor.get(f"{of(discussed)}?limit=3&order={order}&cursor={_last(visitor, path)}"))
        assert last["order"] == order
        back = walk(visitor, path, "previous", _last(visitor, path))
        assert [slug for page in reversed(back) for slug in page] == slugs, order


def _last(asker, path):
    page = said(asker.get(path))
    while page["next"]:
        cursor, page = page["next"], said(asker.get(f"{path}&cursor={quote(page['next'])}"))
    return cursor


def test_page_of_comments_matches_the_schema(visitor, discussed):
    posted = threads(discussed)
    services.remove(discussed, posted[0].slug)
    answer = visitor.get(f"{of(discussed)}?order=threaded")
    page = said(answer)
    TypeAdapter(shapes.Comments).validate_python(page)
    assert (answer["Content-Type"], answer["X-Content-Type-Options"]) == ("application/json", "nosniff")
    assert page["discussion"] | {"node": discussed.pk, "count": 6, "open": True} == page["discussion"]
    by_slug = {one["slug"]: one for one in page["items"]}
    gone, below = by_slug[posted[0].slug], by_slug[posted[2].slug]
    assert (gone["state"], gone["author"], gone["body_html"]) == ("removed", None, "")
    assert (below["parent"], below["depth"], below["state"]) == (posted[0].slug, 1, "public")
    assert below["author"] == {
        "name": "Bea",
        "url": "https://bea.example",
        "is_author": False,
        "is_moderator": False,
    }
    assert "<strong>2</strong>" in below["body_html"]
    assert "source" not in below
    assert visitor.client.get(below["url"]).status_code == 302


def test_thread_is_returned_with_the_page_of_its_comment(visitor, discussed):
    posted = threads(discussed)
    whole = [posted[number].slug for number in (0, 2, 3, 4)]
    assert [one["slug"] for one in said(visitor.get(f"{of(discussed, whole[0])}/thread"))["items"]] == whole
    pages = walk(visitor, f"{of(discussed, whole[0])}/thread?limit=2")
    assert [slug for page in pages for slug in page] == whole
    for order in Order:
        one = said(visitor.get(f"{of(discussed, whole[2])}?order={order}&limit=3"))
        TypeAdapter(shapes.CommentOnPage).validate_python(one)
        page = said(visitor.get(f"{of(discussed)}?limit=3&cursor={quote(one['page'])}"))
        assert (one["slug"], page["order"]) == (whole[2], order)
        assert whole[2] in [item["slug"] for item in page["items"]]
    assert visitor.get(of(discussed, MISSING)).status_code == 404


def test_counts_of_many_discussions_cost_one_query(visitor, post_page, commands):
    threads(post_page)
    quiet = build.node("blog-entry", "quiet", parent=build.node("blog", "second"))
    hidden = build.node("blog-entry", "hidden", parent=build.node("blog", "dark"), published=None)
    path = f"/comments/counts?node={quiet}&node={post_page.pk}&node={hidden}&node={quiet}&node={'0' * 24}"
    with commands.recorded() as log:
        counted = said(visitor.get(path))
    assert counted == {"items": [{"node": str(quiet), "count": 0}, {"node": post_page.pk, "count": 7}]}
    assert [event.command["find"] for event in log.sent].count("discussions") == 1
    assert len(log) <= 5
    many = "&".join(f"node={number:024x}" for number in range(101))
    assert visitor.get(f"/comments/counts?{many}").status_code == 422
    assert visitor.get("/comments/counts").status_code == 422


def test_unchanged_comments_return_304_with_one_command(visitor, post_page, commands):
    posted = threads(post_page)
    for path in (of(post_page), of(post_page, posted[0].slug), f"{of(post_page, posted[0].slug)}/thread?limit=2"):
        first = visitor.get(path)
        with commands.recorded() as log:
            again = visitor.get(path, If_None_Match=first["ETag"])
        assert (again.status_code, again.content, len(log)) == (304, b"", 1), path
    first = visitor.get(of(post_page))
    services.edit(post_page, posted[0].slug, source="Mended", rev=1, token="e")
    changed = visitor.get(of(post_page), If_None_Match=first["ETag"])
    assert changed.status_code == 200
    assert "Mended" in said(changed)["items"][0]["body_html"]
    assert visitor.get(of(post_page, posted[0].slug))["ETag"].startswith('"2.')


ASKED = {
    **dict.fromkeys(("?limit=0", "?limit=101", "?order=best", "?cursor=x", "?cursor=oldest", "?cursor=oldest.-1"), 422),
    **dict.fromkeys(("?cursor=$where.after.x", "?$ne=1", "?at=x"), 422),
    **dict.fromkeys(("?cursor=threaded.after.$where", "?cursor=oldest.9999999"), 200),
    **dict.fromkeys((f"?cursor=threaded.at.{MISSING}", "/x", "/$ne", f"/{MISSING}/thread"), 404),
}


def test_invalid_page_parameters_are_refused(visitor, post_page):
    site.post_directly(post_page)
    for rest, status in ASKED.items():
        answer = visitor.get(of(post_page) + rest)
        assert answer.status_code == status, (rest, answer.content)
        assert answer["Content-Type"] == ("application/json" if status == 200 else "application/problem+json")


def test_page_hidden_from_readers_has_no_discussion(visitor, post_page):
    posted = site.post_directly(post_page)
    assert visitor.get(of(post_page)).status_code == 200
    editing.save(build.EDITOR, posted_id := _id(post_page), build.nonce(posted_id), {"published": None})
    for path in (of(post_page), of(post_page, posted.slug), f"{of(post_page, posted.slug)}/thread"):
        hidden = visitor.get(path)
        assert hidden.status_code == 404
        assert hidden.content == visitor.get("/nodes/" + "0" * 24 + "/comments").content


def _id(target):
    return build.ObjectId(target.pk)


def test_photos_have_discussions(visitor, mongo, rules):
    key = photo_build.upload(photo_build.gallery("plates"), fields={"published": build.PAST})
    answer = Writer(visitor).post(site.Target("nodes.photo", str(key)))
    assert answer.status_code == 201
    assert said(visitor.get(f"/nodes/{key}/comments"))["discussion"]["count"] == 1


def test_source_is_shown_only_to_its_author_and_moderators(visitor, post_page, account, asker):
    author, other, chief = account("own"), account("oth"), account("mod", "Moderators")
    written = services.post(
        post_page, author=CommentAuthor("Own", str(author.pk)), source="As *typed*", token="t"
    ).comment
    seeing = {
        "own": asker(author, Scope.READ),
        "other": asker(other, Scope.WRITE),
        "visitor": visitor,
        "mod": asker(chief, Scope.MODERATE),
        "mod, reading": asker(chief, Scope.READ),
    }
    sources = {name: said(one.get(of(post_page, written.slug))).get("source") for name, one in seeing.items()}
    assert sources == {
        "own": "As *typed*",
        "other": None,
        "visitor": None,
        "mod": "As *typed*",
        "mod, reading": None,
    }
    assert seeing["own"].get(of(post_page))["Cache-Control"] == "private, no-cache"


def test_stored_url_with_an_unsafe_scheme_is_returned_empty(visitor, post_page, mongo):
    (comment, *_others) = threads(post_page)
    found = mongo["comments"].find_one({"slug": comment.slug})
    assert found["author"]["url"] == "https://bea.example"
    # As an older release imported the comment.
    mongo["comments"].update_one({"_id": found["_id"]}, {"$set": {"author.url": "javascript:alert(1)"}})
    assert said(visitor.get(f"{of(post_page)}/{comment.slug}"))["author"]["url"] == ""
