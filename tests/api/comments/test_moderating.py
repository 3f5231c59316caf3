"""Moderation over HTTP: the queue, decisions on the revision seen, removing and restoring."""

import json

import pytest

from api.rights.scopes import Scope
from cms.testing import build
from marginalia.comments.moderation import pending
from marginalia.comments.posting import flags, services
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, Restrictions, Verdict
from nodes.services import editing
from tests.api.comments.conftest import Writer, of, said
from tests.api.conftest import Asker
from tests.support.comments import site


@pytest.fixture
def chief(account, asker):
    """A moderator with a token for moderation."""
    return Writer(asker(account("mod", "Moderators"), Scope.MODERATE))


def hold(target, source="Waits", token="w", author=None):
    held = services.hold(
        target,
        author=author or CommentAuthor("Bea"),
        source=source,
        token=token,
        email="bea@example.org",
        reasons=("links",),
    )
    return held.held


def decide(chief, action, *held, seen="waiting", rev=1):
    items = [{"id": one.id, "rev": rev} for one in held]
    answer = chief.send("post", "/comments/decisions", {"action": action, "items": items, "seen": seen})
    return [one["done"] for one in said(answer)["items"]]


def test_queue_lists_held_comments_in_pages(chief, post_page, writer):
    waiting = [hold(post_page, f"Waits {number}", f"w{number}") for number in range(3)]
    spam = hold(post_page, "Buy", "s")
    pending.reject(spam.id, verdict=Verdict.SPAM)
    first = json.loads(chief.asker.get("/comments/pending?limit=2").content)
    rest = json.loads(chief.asker.get(f"/comments/pending?limit=2&cursor={first['next']}").content)
    assert [one["id"] for one in (*first["items"], *rest["items"])] == [held.id for held in waiting]
    assert rest["next"] is None
    assert (
        first["items"][0]
        | {
            "node": post_page.pk,
            "path": "/news/hello",
            "state": "waiting",
            "rev": 1,
            "source": "Waits 0",
            "email": "bea@example.org",
            "reasons": ["Contains 0 links"],
        }
        == first["items"][0]
    )
    listed = json.loads(chief.asker.get("/comments/pending?state=spam").content)["items"]
    assert [one["id"] for one in listed] == [spam.id]
    for path in ("?cursor=x", "?cursor=" + "0" * 24, "?state=approved", "?state=$ne", "?limit=0"):
        assert chief.asker.get(f"/comments/pending{path}").status_code == 422, path
    assert writer.asker.get("/comments/pending").status_code == 401


def test_decisions_have_the_same_effect_as_in_the_queue(chief, discussed):
    good, bad, junk = (hold(discussed, name, name) for name in ("good", "bad", "junk"))
    for _again in range(2):
        assert decide(chief, "approve", good) == [True]
        assert decide(chief, "reject", bad) == [True]
        assert decide(chief, "spam", junk) == [True]
    assert [one.source for one in selectors.iterate(discussed)] == ["good"]
    assert [selectors.get_held(one.id).verdict for one in (bad, junk)] == [Verdict.REJECTED, Verdict.SPAM]
    # A second decision applies only to the state that the moderator saw.
    assert decide(chief, "approve", bad) == [False]
    assert decide(chief, "approve", bad, seen="rejected") == [True]
    assert decide(chief, "wait", junk, good) == [True, True]
    assert selectors.get_held(junk.id).verdict is Verdict.WAITING
    assert [one.source for one in selectors.iterate(discussed) if not one.removed] == ["bad"]


def test_comment_changed_since_it_was_seen_is_not_approved(chief, post_page):
    held, gone = hold(post_page), hold(post_page, "Gone", "g")
    services.change_held(held.id, source="Now an advertisement", rev=1)
    services.withdraw(gone.id)
    assert decide(chief, "approve", held, gone) == [False, False]
    assert selectors.count(post_page) == 0
    assert decide(chief, "approve", held, rev=2) == [True]
    assert [one.source for one in selectors.iterate(post_page)] == ["Now an advertisement"]


WRONG = (
    {"action": "delete"},
    {"seen": "approved"},
    {"items": []},
    {"items": [{"id": "$ne", "rev": 1}]},
    {"items": [{"id": "0" * 24, "rev": 0}]},
    {"items": [{"id": "0" * 24, "rev": 1}] * 101},
    {"by": "x"},
)


def test_invalid_decisions_are_refused(chief, post_page):
    held = hold(post_page)
    body = {"action": "approve", "items": [{"id": held.id, "rev": 1}]}
    for wrong in WRONG:
        assert chief.send("post", "/comments/decisions", {**body, **wrong}).status_code == 422, wrong
    assert selectors.get_held(held.id).verdict is Verdict.WAITING
    assert chief.send("post", "/comments/decisions", body).status_code == 200


def test_moderator_removes_and_restores_a_comment(chief, discussed):
    path = of(discussed, (posted := site.post_directly(discussed, "Said")).slug)
    flags.flag(posted, "user:1")
    assert chief.send("delete", path, If_Match="1").status_code == 204
    assert (selectors.count(discussed), flags.count()) == (0, 0)
    removed = chief.asker.get(path)
    assert chief.send("post", f"{path}/restore").status_code == 428
    assert chief.send("post", f"{path}/restore", If_Match="1").status_code == 412
    answers = [chief.send("post", f"{path}/restore", If_Match=removed["ETag"]) for _again in range(2)]
    assert [(one.status_code, said(one)["source"]) for one in answers] == [(200, "Said")] * 2
    assert selectors.count(discussed) == 1
    assert said(chief.send("patch", path, {"text": "Mended"}, If_Match=answers[0]["ETag"]))["source"] == "Mended"


STATES = ("public", "pending", "removed")


class Said:
    """A comment of an account, in a given state, on its own post, which is visible to readers or not."""

    def __init__(self, blog, author, state, is_visible):
        name, self.state = f"{state}-{build.ObjectId()}", state
        node = build.node("blog-entry", name, parent=blog)
        self.target, what = site.Target("nodes.node", str(node)), {"source": "zqremark", "token": "t"}
        what["author"] = CommentAuthor("Own", str(author.pk))
        self.held = services.hold(self.target, **what).held if state == "pending" else None
        self.slug = self.held.slug if self.held else services.post(self.target, **what).comment.slug
        if state == "removed":
            services.remove(self.target, self.slug)
        if not is_visible:
            editing.save(build.EDITOR, node, build.nonce(node), {"published": None})

    def look(self):
        """Return what is stored: state and text."""
        if self.held:
            held = selectors.get_held(self.held.id)
            return held.verdict.value, held.source
        found = selectors.get(self.target, self.slug)
        return found.state.value, found.source

    def change(self, who, action):
        """Change the comment, and return the status code."""
        path, rev = of(self.target, self.slug), "2" if self.state == "removed" else "1"
        if action in ("approve", "spam"):
            items = [{"id": self.held.id if self.held else "0" * 24, "rev": 1}]
            return who.send("post", "/comments/decisions", {"action": action, "items": items}).status_code
        if action == "restore":
            return who.send("post", f"{path}/restore", If_Match=rev).status_code
        return who.send(action, path, {"text": "Mended"} if action == "patch" else None, If_Match=rev).status_code


# Permissions on a comment of "own" on a visible page. On hidden pages, only decisions are possible.
MAY = {
    ("public", "patch"): {"own", "moderator"},
    ("public", "delete"): {"own", "moderator"},
    ("pending", "patch"): {"own"},
    ("pending", "delete"): {"own"},
    ("pending", "approve"): {"moderator"},
    ("pending", "spam"): {"moderator"},
    ("removed", "restore"): {"moderator"},
}
ACTIONS = ("patch", "delete", "approve", "spam", "restore")


# The accounts with the most error-prone permissions are in the quick tests, the others in the slow tests.
QUICK = ("visitor", "own", "own, no scope", "moderator")


@pytest.fixture(params=["quick", pytest.param("slow", marks=pytest.mark.slow)])
def people(request, account, asker, rules):
    """Clients by account name, and the account that wrote the comments."""
    own, mod = account("own", "Authors"), account("mod", "Moderators")
    editor, author = account("ed", "Editors"), account("oth", "Authors")
    made = {
        "visitor": Asker(),
        "own": asker(own, Scope.WRITE),
        "own, no scope": asker(own),
        "author": asker(author, *Scope),
        "editor": asker(editor, *Scope),
        "moderator": asker(mod, Scope.MODERATE),
        "moderator, writing": asker(mod, Scope.READ, Scope.WRITE, Scope.PUBLISH),
        "moderator, no scope": asker(mod),
    }
    return own, {name: Writer(one) for name, one in made.items() if (name in QUICK) is (request.param == "quick")}


def test_each_role_sees_the_right_comments_in_each_state(people):
    own, askers = people
    blog = build.node("blog", "news")
    made = {(state, shown): Said(blog, own, state, shown) for state in STATES for shown in (True, False)}
    for name, who in askers.items():
        for (state, shown), one in made.items():
            path = of(one.target, one.slug)
            listed, alone = who.asker.get(of(one.target)), who.asker.get(path)
            sees = shown and (state != "pending" or name == "own")
            assert listed.status_code == (200 if shown else 404), (name, state)
            assert alone.status_code == (200 if sees else 404), (name, state)
            for answer in (listed, alone, who.asker.get(f"{path}/thread")):
                is_told = shown and (
                    state == "public" or (state == "pending" and name == "own" and answer is not listed)
                )
                if not is_told:
                    assert b"zqremark" not in answer.content, (name, state)
            if shown and state == "public":
                assert b"zqremark" in listed.content
                assert ("source" in said(listed)["items"][0]) is (name in ("own", "moderator")), name
            counted = said(who.asker.get(f"/comments/counts?node={one.target.pk}"))["items"]
            assert counted == ([{"node": one.target.pk, "count": int(state == "public")}] if shown else [])
        queue = who.asker.get("/comments/pending")
        assert queue.status_code == {"visitor": 401, "moderator": 200}.get(name, 403), name
        waiting = {made["pending", shown].target.pk for shown in (True, False)}
        assert all((key.encode() in queue.content) is (name == "moderator") for key in waiting), name


@pytest.mark.parametrize("state", ["public", *(pytest.param(one, marks=pytest.mark.slow) for one in STATES[1:])])
def test_each_role_changes_the_right_comments_in_each_state(people, state):
    own, askers = people
    blog = build.node("blog", "news")
    for shown in (True, False):
        untouched = Said(blog, own, state, shown)
        before = untouched.look()
        for action in ACTIONS:
            for name, who in askers.items():
                may = name in MAY.get((state, action), ()) and (shown or action in ("approve", "spam"))
                one = Said(blog, own, state, shown) if may else untouched
                status = one.change(who, action)
                assert (one.look() != before) is may, (name, shown, action)
                assert (status < 300) >= may, (name, shown, action, status)
                assert status != 500


class TestDiscussion:
    """Moderators restrict a discussion with the API."""

    @pytest.fixture
    def path(self, post_page):
        return f"/nodes/{post_page.pk}/discussion"

    def test_restrictions_are_changed_one_by_one(self, chief, path, post_page):
        first = services.post(post_page, author=CommentAuthor("Bea"), source="One", token="t" * 16).comment
        sent = {"slow_seconds": 90, "hours": {"begin": "22:00", "end": "06:30"}, "lock": first.slug}
        answer = chief.send("post", path, sent)
        assert answer.status_code == 200, answer.content
        assert answer.json()["restrictions"] == {
            "slow_seconds": 90,
            "hold_until": None,
            "hours": {"begin": "22:00", "end": "06:30"},
            "pinned": "",
            "locked": [first.slug],
        }
        sent = {"hours": None, "unlock": first.slug, "pinned": first.slug, "hold_until": "2040-01-01T00:00:00Z"}
        chief.send("post", path, sent | {"open": False})
        answer = chief.send("get", path).json()
        assert answer["open"] is False
        assert answer["restrictions"] == {
            "slow_seconds": 90,
            "hold_until": "2040-01-01T00:00:00.000Z",
            "hours": None,
            "pinned": first.slug,
            "locked": [],
        }

    @pytest.mark.parametrize(
        "sent",
        [
            {"hours": {"begin": "8:00", "end": "09:00"}},
            {"hours": {"begin": "08:00", "end": "08:00"}},
            {"slow_seconds": -1},
            {"hold_until": "2040-01-01T00:00:00"},
            {"pinned": "no slug"},
            {"unknown": 1},
        ],
    )
    def test_invalid_restrictions_change_nothing(self, chief, path, post_page, sent):
        assert chief.send("post", path, sent).status_code == 422
        assert selectors.discussion(post_page).restrictions == Restrictions()

    def test_others_cannot_read_or_change_them(self, account, asker, path, post_page):
        writer = Writer(asker(account("own", "Authors"), *Scope))
        assert writer.send("get", path).status_code == 403
        assert writer.send("post", path, {"slow_seconds": 60}).status_code == 403
        assert selectors.discussion(post_page).restrictions == Restrictions()
