"""The pages of readers and editors, by name, with a function that opens each page, for checks of all pages.

`build()` creates a site with content on every page. A scene opens a page of this site in a browser and returns the
response.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bson import ObjectId
from playwright.sync_api import Locator, Page, Response, expect

from cms.testing.build import EDITOR, node, nonce
from marginalia.comments.notices import subscriptions
from marginalia.comments.posting import services
from marginalia.comments.types import CommentAuthor, Target
from nodes.services import editing
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import gallery, upload

SHOWCASE = Path(__file__).parent / "showcase.md"

# A text with every insert that is shipped.
INSERTS = """::contents{{title="In this text"}}

## First

::photo{{photo=photo:{photo} caption="A lake" width=full}}

:::note{{kind=warning}}
Mind the *gap*.

:::note{{kind=tip}}
::button{{link=/about text="Read more"}}
:::
:::

## Second

::gallery{{section=node:{gallery}}}

::posts{{count=3}}

::embed{{url=https://www.youtube.com/watch?v=aqz-KE-bpKQ photo=photo:{photo} title="A film"}}
"""


@dataclass(frozen=True)
class Site:
    """The ids and slugs created by build() that scenes need."""

    post: ObjectId
    folder_page: ObjectId
    photo: ObjectId
    target: Target
    deep: str  # the slug of the comment at the deepest level

    def comment(self, name: str, query: str = "") -> str:
        """Return a path of the comments app for the post, for example comment("form") or comment("c", "/slug")."""
        return f"/comments/{name}/{self.target.label}/{self.target.pk}{query}"


def build() -> Site:
    """Create a site with sections, posts, photos, and a discussion with eight levels."""
    folder = node("folder", "guide", title="Guide", text="What is in this guide.", summary="A short guide.")
    folder_page = node(slug="start", parent=folder, title="Start here", text="A [link](/news).")
    node("folder", "more", parent=folder, title="More")
    blog = node("blog", "news", title="News", summary="What happens.")
    first = datetime(2022, 1, 1, tzinfo=UTC)
    for day in range(1, 13):
        node(
            "blog-entry",
            f"p{day}",
            parent=blog,
            title=f"Post {day}",
            text=SHOWCASE.read_text(encoding="utf-8") if day == 12 else "Some words.",
            published=first + timedelta(days=day),
            tags=("paper", "红楼梦"),
        )
    photos = gallery("lakes", title="Lakes", summary="Water and light.")
    shown = [
        upload(photos, pictures.jpeg(number, pictures.image((900, 600))), f"lake-{number}.jpg", tags=("paper",))
        for number in range(4)
    ]
    node(slug="inserts", title="Inserts", text=INSERTS.format(gallery=photos, photo=shown[0]))
    post = node("blog-entry", "hello", parent=blog, title="Hello", text="A post that is talked about.", tags=("paper",))
    target = Target("nodes.node", str(post))
    parent = ""
    for depth in range(9):
        name = CommentAuthor(f"Reader {depth}", url="https://example.org/" if depth == 2 else "")
        source = f"A comment at depth {depth} with `code`, a [link](https://example.org/) and\n\n> a quotation."
        parent = services.post(target, author=name, source=source, token=f"depth-{depth}", parent=parent).comment.slug
    services.post(target, author=CommentAuthor("Bea"), source="Another thread", token="other")
    services.hold(target, author=CommentAuthor("Newcomer"), source="May I?", token="held")
    node("author", "ann", title="Ann", text="Ann writes about paper.", **{"detail.picture": shown[0]})
    node(
        "blog-entry",
        "guest",
        parent=blog,
        title="From a guest",
        published=first,
        author={"_id": ObjectId(), "name": "Bo"},
    )
    return Site(post, folder_page, shown[0], target, parent)


def _at(address: str | Callable[[Site], str]) -> Callable[[Page, Site], Response]:
    def go(page: Page, site: Site) -> Response:
        response = page.goto(address if isinstance(address, str) else address(site))
        assert response is not None
        # A script loads the comment form and inserts it into the page.
        expect(page.locator("[data-comments-form] > a")).to_have_count(0)
        return response

    return go


def _sent(page: Page, button: str) -> Response:
    return _followed(page, page.locator(button))


def _followed(page: Page, link: Locator) -> Response:
    with page.expect_navigation() as navigation:
        link.click()
    return navigation.value


def _refused_form(page: Page, site: Site) -> Response:
    page.expected.append("422")
    page.goto(site.comment("form"))
    page.locator("input[name=email]").fill("no address")
    return _sent(page, ".comment-buttons button:not([name])")


def _preview(page: Page, site: Site) -> Response:
    page.goto(site.comment("form"))
    page.get_by_label("Comment", exact=True).fill("I *agree*.")
    page.get_by_label("Name").fill("Ann")
    return _sent(page, "[name=preview]")


def _not_found(address: str) -> Callable[[Page, Site], Response]:
    def go(page: Page, site: Site) -> Response:
        page.expected.append("404")
        return _at(address)(page, site)

    return go


def _edit_form(page: Page, site: Site) -> Response:
    page.goto(site.comment("form"))
    page.get_by_label("Comment", exact=True).fill("I *agree*.")
    page.get_by_label("Name").fill("Ann")
    _sent(page, ".comment-buttons button:not([name])")
    # Until the time to edit a comment is over, the form links to it.
    page.goto(site.comment("form"))
    return _followed(page, page.get_by_role("link", name="Edit").first)


def _subscription(page: Page, site: Site) -> Response:
    subscriptions.add(site.target, site.deep, "bea@example.org")
    signed = subscriptions.token(subscriptions.id_for(site.target, "bea@example.org"), subscriptions.CONFIRM)
    return _at(f"/comments/subscribe/{signed}")(page, site)


def _refused_log_in(page: Page, site: Site) -> Response:
    page.goto("/log-in")
    page.locator("#id_username").fill("nobody")
    page.locator("#id_password").fill("wrong")
    return _sent(page, ".account-form button")


def _conflict(page: Page, site: Site) -> Response:
    page.expected.append("409")
    node_id = node(slug="contested", title="Contested", text="The cat sat on the mat.\n\nSame.")
    page.goto(f"/admin/nodes/node/{node_id}/change/")
    editing.save(
        EDITOR, node_id, nonce(node_id), {"title": "Theirs", "detail.text": "The dog sat on the mat.\n\nSame."}
    )
    page.locator("#id_text").evaluate(
        "(area, text) => { area.value = text; area.dispatchEvent(new Event('input')); }", "The cat slept.\n\nSame."
    )
    page.locator("#id_title").fill("Mine")
    return _sent(page, "[name=_continue]")


def _difference(page: Page, site: Site) -> Response:
    editing.save(
        EDITOR, site.folder_page, nonce(site.folder_page), {"title": "Begin here", "detail.text": "New words."}
    )
    page.goto(f"/admin/nodes/node/{site.folder_page}/history/")
    # With scripts, a click would show the differences in the timeline.
    return page.goto(page.locator(".timeline [data-inline]").first.get_attribute("href"))


def _menu(page: Page, site: Site) -> Response:
    answer = _at(f"/admin/nodes/node/{site.post}/change/")(page, site)
    page.locator(".tool-insert").click()
    page.get_by_role("button", name="Photo with caption").click()
    return answer


READERS: dict[str, Callable[[Page, Site], Response]] = {
    "home": _at("/"),
    "page about the API": _at("/api/v1/"),
    "section": _at("/guide"),
    "page": _at("/guide/start"),
    "blog index": _at("/news"),
    "archive": _at("/news/archive"),
    "typography": _at("/news/p12"),
    "inserts": _at("/inserts"),
    "post with threaded comments": _at("/news/hello"),
    "permalink page": _at(lambda site: site.comment("c", f"/{site.deep}")),
    "thread": _at(lambda site: site.comment("thread", f"/{site.deep}")),
    "comment form": _at(lambda site: site.comment("form")),
    "reply form": _at(lambda site: site.comment("form", f"?parent={site.deep}")),
    "refused form": _refused_form,
    "preview of a comment": _preview,
    "flagging": _at(lambda site: site.comment("flag", f"/{site.deep}")),
    "gallery": _at("/lakes"),
    "photo": _at("/lakes/lake-2"),
    "search": _at("/search"),
    "search results": _at("/search?q=post"),
    "nothing found": _at("/search?q=xylophone"),
    "tag page": _at("/tag/paper"),
    "all tags": _at("/tag"),
    "404": _not_found("/news/helo"),
    "404 without similar pages": _not_found("/xylophone"),
    "expired preview": _not_found("/preview/expired"),
    "month archive": _at("/news/archive/2022/01"),
    "author page": _at("/ann"),
    "author without a page": _at("/author/bo"),
    "photos of a camera": _at("/media/find?camera=Nikon+Z+8"),
    "discussion": _at(lambda site: site.comment("on")),
    "posted comment": _at(lambda site: site.comment("posted", f"/{site.deep}")),
    "form to edit a comment": _edit_form,
    "subscription": _subscription,
    "password reset": _at("/admin/password-reset/"),
    "log-in": _at("/log-in"),
    "refused log-in": _refused_log_in,
}

# Pages that look different with the documentation theme.
DOCUMENTATION = {
    name: READERS[name]
    for name in (
        "home",
        "section",
        "page",
        "typography",
        "inserts",
        "gallery",
        "post with threaded comments",
        "search results",
        "404",
    )
}

EDITORS: dict[str, Callable[[Page, Site], Response]] = {
    "own comments": _at("/comments/mine"),
    "admin start": _at("/admin/"),
    "list of pages": _at("/admin/nodes/node/"),
    "node form": _at(lambda site: f"/admin/nodes/node/{site.post}/change/"),
    "menu of inserts": _menu,
    "new page": _at("/admin/nodes/node/add/?type=basic-page"),
    "conflict page": _conflict,
    "history diff": _difference,
    "comment queue": _at("/admin/marginalia_comments/moderation/"),
    "reported comments": _at("/admin/marginalia_comments/moderation/reported"),
    "photo library": _at("/admin/nodes/photo/"),
    "photo form": _at(lambda site: f"/admin/nodes/photo/{site.photo}/change/"),
    "photos to describe": _at(lambda site: f"/admin/nodes/photo/describe/?photo={site.photo}"),
}
