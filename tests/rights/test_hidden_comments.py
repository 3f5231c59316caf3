"""Hidden comments: whatever hides a comment, in every layout, no public address shows its text or its author.

One comment is hidden in each of the WAYS. Its text, name, email address and links contain a word that nothing else
contains. Readers then request every address, and no response contains one of these words.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from bson import encode
from django.contrib.auth.models import User
from django.core import mail
from django.template import Context, Template
from django.test import Client
from django.urls import reverse

import api.urls  # noqa: F401 - adds all operations to the routers
from api.changes.relay import relay
from api.comments.reading import router as api_router
from api.embed import pages
from api.embed.pages import PageAddress
from api.embed.reading import router as embed_router
from api.rights import tokens as api_tokens
from api.rights.scopes import Scope
from marginalia.comments import urls
from marginalia.comments.api.endpoints import router as comments_router
from marginalia.comments.moderation import bans, batches, pending
from marginalia.comments.notices import mails, subscriptions
from marginalia.comments.operations import privacy
from marginalia.comments.operations.privacy import Person
from marginalia.comments.posting import ip_hash, services, tokens
from marginalia.comments.posting.services import Sender
from marginalia.comments.posting.tokens import SentComment
from marginalia.comments.reading import selectors
from marginalia.comments.types import Comment, CommentAuthor, HeldComment, Selection, Target
from marginalia.mongo.connection import database
from tests.rights.world import body
from tests.support.comments import site
from tests.support.comments.layouts import FORMS

ORIGIN = "https://blog.example.org"
PAGE = f"{ORIGIN}/posts/7/"
ORDERS = ("oldest", "newest", "threaded")
Posted = Comment | HeldComment
TAGS = Template(
    "{% load comments %}{% get_recent_comments 50 as list %}"
    "{% for comment in list %}{{ comment.author.name }}: {{ comment.html }}{% endfor %}"
)


def word(way: str) -> str:
    """Return the word that only the comment hidden in this way contains."""
    return f"zq{way}zq"


def ban(scene: "Scene", kind: str, value: str) -> None:
    term = bans.parse(kind, value)
    bans.ban(scene.sender, term)
    batches.hide(scene.sender, batches.of_term(term), what=str(term))


def on_page(scene: "Scene", do: str, posted: list[Posted]) -> None:
    """Send the moderator's form below each of the comments."""
    for comment in posted:
        assert scene.staff.post(site.change_url("moderate", comment) + f"?do={do}", {"rev": "1"}).status_code == 302


def decide(scene: "Scene", posted: list[Posted], *actions: str) -> None:
    for action in actions:
        decided = pending.decide(action, [held.id for held in posted], scene.chief)
        assert decided.failed == ()


def each(work: Callable[[Posted], Any]) -> Callable[["Scene", list[Posted]], None]:
    def apply(scene: "Scene", posted: list[Posted]) -> None:
        for comment in posted:
            work(comment)

    return apply


# How each comment is hidden. The comments in QUEUED never were public before.
WAYS: dict[str, Callable[["Scene", list[Posted]], None]] = {
    "held": each(lambda held: None),
    "rejected": lambda scene, posted: decide(scene, posted, "reject"),
    "junk": lambda scene, posted: decide(scene, posted, "spam"),
    "withdrawn": each(lambda held: services.withdraw(held.id)),
    "heldbanned": lambda scene, posted: ban(scene, "words", word("heldbanned")),
    "unapproved": lambda scene, posted: decide(scene, posted, "approve", "wait"),
    "hidden": lambda scene, posted: on_page(scene, "hide", posted),
    "spam": lambda scene, posted: on_page(scene, "spam", posted),
    "removed": each(lambda comment: services.remove(comment.target, comment.slug)),
    "edited": each(lambda c: services.edit(c.target, c.slug, source="Changed", rev=1, token="e")),
    "account": lambda scene, posted: ban(scene, "account", "spammer"),
    "network": lambda scene, posted: ban(scene, "network", "198.51.100.7"),
    "email": lambda scene, posted: ban(scene, "email", f"a@{word('email')}.example"),
    "domain": lambda scene, posted: ban(scene, "from", f"{word('domain')}.example"),
    "link": lambda scene, posted: ban(scene, "link", f"{word('link')}.example"),
    "words": lambda scene, posted: ban(scene, "words", word("words")),
    "alike": lambda scene, posted: batches.hide(scene.sender, batches.shingles(posted[0])),
    "chosen": lambda scene, posted: batches.hide(
        scene.sender, Selection(comments=tuple((comment.target.id, comment.slug) for comment in posted))
    ),
    "erased": lambda scene, posted: privacy.erase(Person(email=f"a@{word('erased')}.example")),
}
QUEUED = ("held", "rejected", "junk", "withdrawn", "heldbanned", "unapproved")
# The ways and readers in the quick test.
QUICK = ("held", "junk", "hidden", "edited", "words", "erased")
QUICK_READERS = ("guest", "follower")


class Scene:
    """Two discussions, on a page of this site and on a page of another site, with a comment for each of the WAYS.

    Each comment that was public has a public reply.
    """

    def __init__(self, ann: Any, spammer: Any, moderator: Any, request: Any, ways: Iterable[str]) -> None:
        request.user = moderator
        self.sender, self.chief = Sender(request, ()), str(moderator.pk)
        self.staff = Client()
        self.staff.force_login(moderator)
        self.spammer = str(spammer.pk)
        self.target = site.entry()
        address = PageAddress.parse(PAGE)
        pages.get_or_create(address, "Seven")
        self.targets = (self.target, address.target)
        self.first = {target: site.post_directly(target, "First", token="first") for target in self.targets}
        self.own = self._follow()
        self.posted = {way: [self._post(way, target) for target in self.targets] for way in ways}
        self.public = set(ways) - set(QUEUED)
        for way in self.public:
            for comment in self.posted[way]:
                site.post_directly(comment.target, f"Answer to {way}", token=f"answer {way}", parent=comment.slug)
        self.member = Client()
        self.member.force_login(ann)
        self.program = Client(headers={"Authorization": f"Bearer {api_tokens.create(ann, 't', tuple(Scope))[1]}"})
        # A hidden comment can be pinned, and its thread locked.
        self.pinned = self.posted["hidden"][0]
        services.restrict(self.target, pinned=self.pinned.slug)
        services.lock_thread(self.target, self.pinned.slug, locked=True)

    def _follow(self) -> str:
        """Subscribe a guest to replies to the first comment. Return the list of comments of the guest's browser."""
        first = self.first[self.target]
        subscriptions.add(self.target, first.slug, "follower@example.org")
        self.subscription = subscriptions.by_email("follower@example.org")[0]
        subscriptions.confirm(self.subscription)
        return tokens.sign_sent(SentComment(str(target), self.first[target].slug, "first") for target in self.targets)

    def _post(self, way: str, target: Target) -> Posted:
        """Post a comment as a reply to the first one, and tell its followers."""
        hidden = word(way)
        name = "Ann" if way == "edited" else hidden
        author = CommentAuthor(name, self.spammer if way == "account" else None, "" if name == "Ann" else _site(way))
        fields = {
            "author": author,
            "source": f"{hidden} one {hidden} two http://www.{hidden}.example three {hidden}",
            "token": f"token {way}",
            "parent": self.first[target].slug,
            "email": f"a@{hidden}.example",
        }
        posted = services.hold(target, **fields).held if way in QUEUED else services.post(target, **fields).comment
        if way == "network":
            ip_hash.record(target, posted.slug, "x", (ip_hash.hash_network("198.51.100.0/24"),))
        if isinstance(posted, Comment):
            mails.notify_subscribers(posted, "http://testserver")
        return posted

    def readers(self) -> dict[str, Client]:
        """Return the browsers of the readers in the test. The follower's browser has sent the first comments."""
        follower = Client(headers={"Comments-Own": self.own})
        follower.cookies[tokens.OWN_COOKIE] = self.own
        every = {"guest": Client(), "follower": follower, "member": self.member, "program": self.program}
        return every if len(self.posted) > len(QUICK) else {name: every[name] for name in QUICK_READERS}

    def hide(self) -> None:
        for way, posted in self.posted.items():
            WAYS[way](self, posted)


def _site(way: str) -> str:
    return f"https://{word(way)}.example/"


@dataclass(frozen=True)
class Address:
    """A request: the name of its route, and its URL, which depends on the scene and a comment."""

    name: str
    url: Callable[[Scene, Posted], str]
    method: str = "GET"
    body: dict[str, Any] | Callable[[Scene, Posted], dict[str, Any]] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    is_form: bool = False

    def send(self, client: Client, scene: Scene, comment: Posted, **headers: str) -> Any:
        said = self.body(scene, comment) if callable(self.body) else self.body
        url = self.url(scene, comment)
        sent = {"Origin": ORIGIN, **self.headers, **headers} if "/embed/" in url else {**self.headers, **headers}
        if self.is_form:
            return client.post(url, said, headers=sent)
        content = json.dumps(said) if self.method != "GET" else ""
        return client.generic(self.method, url, content, "application/json", headers=sent)


def _of(name: str, query: str = "", *, api: bool = False) -> Callable[[Scene, Posted], str]:
    """Return a function that returns the URL of a page of a comment's discussion."""
    return lambda scene, comment: reverse(f"comments-{name}", args=[comment.target.label, comment.target.pk]) + query


def _one(name: str, query: str = "") -> Callable[[Scene, Posted], str]:
    """Return a function that returns the URL of a page of a comment."""
    return lambda scene, comment: site.change_url(name, comment) + query


def _api(path: str) -> Callable[[Scene, Posted], str]:
    """Return a function that returns an API URL, for the comment in the discussion on this site's page."""
    return lambda scene, comment: (
        "/api/v1" + path.format(node=scene.target.pk, slug=comment.slug, page=PAGE, id=_held_id(comment))
    )


def _at(path: str) -> Callable[[Scene, Posted], str]:
    return lambda scene, comment: path


def _rest(path: str) -> Callable[[Scene, Posted], str]:
    """Return a function that returns a URL of the comments app's own API."""
    return lambda scene, comment: (
        "/comments/api" + path.format(label=comment.target.label, pk=comment.target.pk, slug=comment.slug)
    )


def _held_id(comment: Posted) -> str:
    return comment.id if isinstance(comment, HeldComment) else "0" * 24


# Requests that are the same for all comments of a discussion.
ONCE = [
    *(Address("node", _at(f"/news/hello{query}")) for query in ("", *(f"?comments={order}" for order in ORDERS))),
    *(
        Address("site", _at(path))
        for path in (
            "/",
            "/news",
            "/news/archive",
            "/search?q=zq",
            "/search?q=hello",
            "/search/suggestions?q=zq",
            "/tag",
            "/sitemap.xml",
            "/sitemap-blog-entry-1.xml",
            *(f"{at}/feed/{form}" for at in ("", "/news") for form in ("atom", "rss", "json")),
            "/admin/marginalia_comments/moderation/",
            "/admin/marginalia_comments/moderation/search?q=zq",
            "/admin/marginalia_comments/moderation/bans",
            "/admin/marginalia_comments/moderation/decisions",
            "/api/v1/nodes?include=body_html",
            "/api/v1/changes",
        )
    ),
    *(Address("comments-discussion", _of("discussion", f"?comments={order}")) for order in ORDERS),
    Address("comments-feed", _of("feed")),
    Address("comments-form", _of("form")),
    Address("comments-form", _of("form", "?fragment=1")),
    Address("comments-manage", _of("manage")),
    Address("comments-old-permalink", _of("old-permalink", "?anchor=comment-1")),
    Address("comments-mine", _at("/comments/mine")),
    Address("comments-embedded", _at(f"/comments/embedded?page={PAGE}")),
    Address("comments-unsubscribe", lambda scene, comment: _link(scene, "unsubscribe", subscriptions.LEAVE)),
    Address("comments-subscribe", lambda scene, comment: _link(scene, "subscribe", subscriptions.CONFIRM)),
    *(Address("api-comments", _api(f"/nodes/{{node}}/comments?order={order}&limit=100")) for order in ORDERS),
    Address("api-comment-counts", _api("/comments/counts?node={node}")),
    Address("api-discussion", _api("/nodes/{node}/discussion")),
    *(Address("api-pending", _api(f"/comments/pending?state={state}")) for state in ("waiting", "spam", "rejected")),
    Address("api-bans", _api("/comments/bans")),
    Address("api-preview-ban", _api("/comments/bans/preview"), "POST", {"kind": "words", "value": "one"}),
    Address("api-search-comments", _api("/comments/search?q=zq")),
    Address("api-bulk-decisions", _api("/comments/bulk-decisions")),
    Address("api-bulk-decision", _api(f"/comments/bulk-decisions/{'0' * 24}")),
    Address("api-undo-bulk-decision", _api(f"/comments/bulk-decisions/{'0' * 24}/undo"), "POST"),
    Address("embed-comments", _api("/embed/comments?page={page}")),
    Address("embed-counts", _api("/embed/counts?page={page}")),
    Address("embed-preview", _api("/embed/preview"), "POST", {"text": "Preview"}),
    *(Address("list", _rest(f"/on/{{label}}/{{pk}}?order={order}&limit=100")) for order in ORDERS),
    Address("counts", _rest("/counts?target={label}:{pk}")),
]
# Requests about one comment. Those that would change something come last.
EACH = [
    Address("node", lambda scene, comment: f"/news/hello?comments=threaded.at.{comment.slug}"),
    Address(
        "comments-discussion", lambda s, comment: _of("discussion", f"?comments=oldest.at.{comment.slug}")(s, comment)
    ),
    Address("comments-form", lambda scene, comment: _of("form", f"?parent={comment.slug}")(scene, comment)),
    Address("comments-thread", _one("thread")),
    Address("comments-url-redirect", _one("url-redirect")),
    *(Address(f"comments-{name}", _one(name)) for name in ("comment-done", "edit", "delete", "flag", "like")),
    *(Address("comments-moderate", _one("moderate", f"?do={do}")) for do in ("hide", "spam", "ban", "pin")),
    Address("comments-approve", lambda scene, comment: reverse("comments-approve", args=[_held_id(comment)])),
    Address("api-comment", _api("/nodes/{node}/comments/{slug}")),
    Address("api-thread", _api("/nodes/{node}/comments/{slug}/thread")),
    Address("read", _rest("/c/{label}/{pk}/{slug}")),
]
WRITES = [
    Address("comments-edit", _one("edit"), "POST", {"text": "Mine", "rev": "1", "nonce": "n"}, is_form=True),
    *(Address(f"comments-{name}", _one(name), "POST", is_form=True) for name in ("delete", "flag", "like")),
    *(Address("comments-moderate", _one("moderate", f"?do={do}"), "POST", is_form=True) for do in ("hide", "spam")),
    Address("comments-approve", lambda s, c: reverse("comments-approve", args=[_held_id(c)]), "POST", is_form=True),
    Address("comments-post-comment", _at("/comments/post"), "POST", lambda s, c: _sent(c), is_form=True),
    Address(
        "api-comments",
        _api("/nodes/{node}/comments"),
        "POST",
        lambda scene, comment: {"text": "Reply", "name": "Eve", "parent": comment.slug},
        {"Idempotency-Key": "0e8bd5a6-7f0a-4c7e-9c39-4d1f5c6f1b60"},
    ),
    Address("api-comment", _api("/nodes/{node}/comments/{slug}"), "PATCH", {"text": "Mine"}, {"If-Match": "1"}),
    Address("api-comment", _api("/nodes/{node}/comments/{slug}"), "DELETE", {}, {"If-Match": "1"}),
    Address("api-flag", _api("/nodes/{node}/comments/{slug}/flag"), "POST"),
    *(Address("api-like", _api("/nodes/{node}/comments/{slug}/like"), method) for method in ("PUT", "DELETE")),
    Address("api-restore", _api("/nodes/{node}/comments/{slug}/restore"), "POST", {}, {"If-Match": "1"}),
    Address(
        "api-decisions",
        _api("/comments/decisions"),
        "POST",
        lambda scene, comment: {"action": "approve", "items": [{"id": _held_id(comment), "rev": 1}]},
    ),
    Address("api-bans", _api("/comments/bans"), "POST", {"kind": "words", "value": "one"}),
    Address("api-ban", _api("/comments/bans/{id}"), "DELETE"),
    Address(
        "api-bulk-decisions", _api("/comments/bulk-decisions"), "POST", {"action": "spam", "filters": {"q": "one"}}
    ),
    Address(
        "embed-comments",
        _api("/embed/comments"),
        "POST",
        lambda scene, comment: {"page": PAGE, "text": "Reply", "name": "Eve", "parent": comment.slug},
        {"Idempotency-Key": "0e8bd5a6-7f0a-4c7e-9c39-4d1f5c6f1b60"},
    ),
    Address(
        "embed-comment", _api("/embed/comments/{slug}"), "PATCH", {"page": PAGE, "text": "Mine"}, {"If-Match": "1"}
    ),
    Address("embed-comment", _api("/embed/comments/{slug}?page={page}"), "DELETE", {}, {"If-Match": "1"}),
    Address("embed-like", _api("/embed/comments/{slug}/like"), "POST", {"page": PAGE, "liked": True}),
    Address(
        "embed-decision",
        _api("/embed/comments/{slug}/decision"),
        "POST",
        {"page": PAGE, "action": "approve"},
        {"If-Match": "1"},
    ),
    Address(
        "post",
        _rest("/on/{label}/{pk}"),
        "POST",
        lambda scene, comment: {"text": "Reply", "name": "Eve", "parent": comment.slug},
        {"Idempotency-Key": "0e8bd5a6-7f0a-4c7e-9c39-4d1f5c6f1b60"},
    ),
    Address("change", _rest("/c/{label}/{pk}/{slug}"), "PATCH", {"text": "Mine"}, {"If-Match": "1"}),
    Address("delete", _rest("/c/{label}/{pk}/{slug}"), "DELETE", {}, {"If-Match": "1"}),
    Address("flag", _rest("/c/{label}/{pk}/{slug}/flag"), "POST"),
    Address("like", _rest("/c/{label}/{pk}/{slug}/like"), "PUT"),
    Address("unlike", _rest("/c/{label}/{pk}/{slug}/like"), "DELETE"),
]
# The routes that show public comments.
SHOWN = {
    "node",
    "comments-discussion",
    "comments-feed",
    "comments-form",
    "comments-thread",
    "comments-comment-done",
    "comments-flag",
    "comments-like",
    "api-comments",
    "api-comment",
    "api-thread",
    "embed-comments",
    "list",
    "read",
}


def _link(scene: Scene, name: str, purpose: str) -> str:
    return reverse(f"comments-{name}", args=[subscriptions.token(scene.subscription.id, purpose)])


def _sent(comment: Posted) -> dict[str, str]:
    """Return the form of a reply to a comment."""
    token = tokens.FormToken.new(comment.target, comment.slug)
    return {"token": token.signed(), "name": "Eve", "text": "Reply", "homepage": "", "preview": "1"}


@pytest.fixture(
    params=[
        pytest.param((FORMS[0], QUICK), id="quick"),
        *(pytest.param((form, tuple(WAYS)), marks=pytest.mark.slow, id="-".join(form)) for form in FORMS),
    ]
)
def scene(request, rf, ann, moderator, rules, settings, mongo) -> Scene:
    (layout, order), ways = request.param
    entry = {"LAYOUT": layout, "ORDER": str(order), "OPTIONS": {"SIZE": 4} if layout == "buckets" else {}}
    embedded = {**entry, "LAYOUT": "documents", "OPTIONS": {}} if layout == "embedded" else entry
    rules(TARGETS={"nodes.node": entry, pages.LABEL: embedded}, MAX_LINKS=9, LIKES=True)
    settings.EMBED = {"ORIGINS": [ORIGIN], "KEYS": []}
    settings.ROOT_URLCONF = "tests.support.comments.rest_urls"
    settings.API = {**settings.API, "WRITES_PER_MINUTE": 100_000, "READS_PER_MINUTE": 100_000}
    spammer = User.objects.create_user("spammer", "s@example.org", "pw")
    return Scene(ann, spammer, moderator, rf.get("/"), ways)


@pytest.fixture
def ann(mongo) -> Any:
    return User.objects.create_user("ann", "ann@example.org", "pw")


def requests(scene: Scene) -> Iterator[tuple[Address, Posted]]:
    for address in ONCE:
        for target in scene.targets:
            yield address, scene.first[target]
    for address in EACH:
        for posted in scene.posted.values():
            yield from ((address, comment) for comment in posted)


def leaks(text: str) -> list[str]:
    """Return the ways in whose hidden comments a word of a text occurs."""
    return sorted({found for found in re.findall(r"zq([a-z]+)zq", text.lower()) if found in WAYS})


def test_table_contains_every_address_of_comments():
    names = {pattern.name for pattern in urls.urlpatterns} | {"comments-embedded"}
    for router in (api_router, embed_router, comments_router):
        names |= {pattern.name for pattern in router.urls_paths("")}
    assert names - {None, ""} <= {address.name for address in (*ONCE, *EACH, *WRITES)}


@pytest.mark.slow
def test_hidden_comments_appear_at_no_address(scene, mongo):
    before = []
    seen = set()
    relay()
    guest = Client()
    for address, comment in requests(scene):
        response = address.send(guest, scene, comment)
        before.append(response)
        shown = leaks(body(response))
        seen |= {address.name} if shown else set()
        assert set(shown).isdisjoint(QUEUED), address
    assert seen == SHOWN
    assert leaks(TAGS.render(Context()))

    scene.hide()
    relay()
    wrong = []
    for who, client in scene.readers().items():
        for (address, comment), first in zip(requests(scene), before, strict=True):
            url = address.url(scene, comment)
            response = address.send(client, scene, comment)
            if found := leaks(body(response)):
                wrong.append((who, address.method, url, found))
            for header, validator in (("If-None-Match", "ETag"), ("If-Modified-Since", "Last-Modified")):
                if who == "guest" and validator in first and leaks(body(first)):
                    again = address.send(client, scene, comment, **{header: first[validator]})
                    assert again.status_code != 304, (url, header)
    assert wrong == []
    assert leaks(TAGS.render(Context())) == []

    # Each discussion has the first comment, the answers, and perhaps the edited comment.
    shown = 1 + len(scene.public) + ("edited" in scene.public)
    for target in scene.targets:
        assert selectors.count(target) == shown
        assert sum(not comment.removed for comment in selectors.iterate(target)) == shown
    counted = re.search(r'class="comment-count"[^>]*>\s*(\d+)', body(Client().get("/")))
    assert counted
    assert int(counted[1]) == shown
    site.work()
    assert not any(leaks(f"{message.subject} {message.body}") for message in mail.outbox)
    for name in ("jobs", "cms.changes", "django_session"):
        assert not any(leaks(encode(document).decode("utf-8", "replace")) for document in database()[name].find())

    for who, client in scene.readers().items():
        for address in WRITES:
            for way, posted in scene.posted.items():
                for comment in posted:
                    response = address.send(client, scene, comment)
                    assert response.status_code < 500, (who, address, way)
                    if found := leaks(body(response)):
                        wrong.append((who, address.method, address.url(scene, comment), found))
    assert wrong == []
