"""Permissions on comments, and where they are shown: a cell for every account, state and action."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from marginalia.comments.admin import PAGE_SIZE
from marginalia.comments.backends import backend
from marginalia.comments.errors import CommentNotFound
from marginalia.comments.moderation import pending
from marginalia.comments.posting import flags, services
from marginalia.comments.reading import selectors
from marginalia.comments.types import Ban, Batch, CommentAuthor, Selection, Target, TermKind, Verdict
from marginalia.mongo.connection import database
from nodes.services import editing
from tests.rights.world import API, World, body, is_refused, remark, rows

STATES = ("public", "held", "spam", "removed", "private")
ADMIN = "/admin/marginalia_comments/moderation/"
# The owner's account wrote it. m: moderators, a: administrators. `private`: formerly public, on a post that is now
# hidden.
READING = """
                     public  held  spam  removed  private
page of the post     +       -     -     -        -
discussion           +       -     -     -        -
discussion, newest   +       -     -     -        -
thread               +       -     -     -        -
permalink            +       -     -     -        -
comment feed         +       -     -     -        -
answer form          +       -     -     -        -
flag form            +       -     -     -        -
after posting        +       o     -     -        -
my comments          o       -     -     -        -
edit form            oma     o     -     -        -
delete form          oma     o     -     -        -
approve form         -       ma    ma    -        -
queue                -       ma    -     -        -
queue of spam        -       -     ma    -        -
published, for admin ma      -     -     -        ma
in the admin         ma      -     -     ma       ma
"""
WRITING = """
                     public  held  spam  removed  private
edit                 oma     o     -     -        -
delete               oma     o     -     -        -
flag                 +       -     -     -        -
approve              -       ma    ma    -        -
approve in bulk      -       ma    ma    -        -
reject in bulk       -       ma    ma    -        -
remove in the admin  ma      -     -     -        ma
restore in the admin -       -     -     ma       -
hide on the page     ma      -     -     -        -
spam on the page     ma      -     -     -        -
lock on the page     ma      -     -     ma       -
pin on the page      ma      -     -     ma       -
close its discussion ma      ma    ma    ma       -
all like this        ma      ma    -     -        ma
ban its words        ma      ma    -     -        ma
spam in the search   ma      ma    -     -        ma
show in the search   -       ma    ma    ma       -
api change           oma     o     -     -        -
api delete           oma     o     -     -        -
api approve          -       ma    ma    -        -
api restore          -       -     -     ma       -
api lock its thread  ma      -     -     ma       -
api close            ma      ma    ma    ma       -
api ban              ma      ma    -     -        ma
api hide all found   ma      ma    -     -        ma
"""
# The accounts that can undo each decision of a moderator.
UNDOING = """
                     undone
undo in the admin    ma
lift a ban           ma
api undo             ma
api lift             ma
"""


class Said:
    """A comment of the owner in a given state, on its own post."""

    def __init__(self, world: World, state: str) -> None:
        self.state, self.thing = state, world.thing("live", marker="plain")
        self.target, user = Target("nodes.node", str(self.thing.id)), world.users["owner"]
        # Only this comment contains its own word, for decisions about many comments.
        self.word = f"zw{self.thing.id}"
        source = f"{remark(state)} {self.word}"
        what = {"author": CommentAuthor("Owner", str(user.pk)), "source": source, "token": f"{self.thing.id}"}
        if state in ("held", "spam"):
            held = services.hold(self.target, reasons=("test",), **what).held
            self.slug, self.held_id = held.slug, held.id
            if state == "spam":
                pending.reject(held.id, verdict=Verdict.SPAM)
            return
        self.slug, self.held_id = services.post(self.target, **what).comment.slug, "0" * 24
        if state == "removed":
            services.remove(self.target, self.slug)
        if state == "private":
            editing.save(world.chief, self.thing.id, self._nonce(), {"published": None})

    def _nonce(self):
        return database()["cms.nodes"].find_one({"_id": self.thing.id})["metadata"]["nonce"]

    @property
    def alike(self) -> str:
        return self.admin.replace("/comment/", "/alike/")

    def of(self, page: str) -> str:
        return f"/comments/{page}/nodes.node/{self.thing.id}"

    def one(self, page: str) -> str:
        return f"{self.of(page)}/{self.slug}"

    @property
    def admin(self) -> str:
        return f"/admin/marginalia_comments/moderation/comment/nodes.node/{self.thing.id}/{self.slug}"

    def look(self) -> tuple[object, ...]:
        """Return what is stored: the discussion, the state, the text, the number of flags, and the state in the queue."""
        discussion = selectors.discussion(self.target)
        return discussion.open, discussion.restrictions, *self._look()

    def _look(self) -> tuple[str, str, int, str]:
        try:
            found = selectors.get(self.target, self.slug)
            stored = (found.state.value, found.source)
        except CommentNotFound:
            stored = ("", "")
        flagged = sum(f.count for f in flags.list_flagged(1_000) if f.target == self.target)
        try:
            held = selectors.get_held(self.held_id)
            return stored[0], stored[1] or held.source, flagged, held.verdict.value
        except CommentNotFound:
            return *stored, flagged, ""


PATHS: dict[str, Callable[[Said], str]] = {
    "page of the post": lambda s: s.thing.path,
    "discussion": lambda s: s.of("on"),
    "discussion, newest": lambda s: f"{s.of('on')}?comments=newest",
    "thread": lambda s: s.one("thread"),
    "permalink": lambda s: s.one("c"),
    "comment feed": lambda s: s.of("feed"),
    "answer form": lambda s: f"{s.of('form')}?parent={s.slug}",
    "flag form": lambda s: s.one("flag"),
    "after posting": lambda s: s.one("posted"),
    "my comments": lambda s: "/comments/mine",
    "edit form": lambda s: s.one("edit"),
    "delete form": lambda s: s.one("delete"),
    "approve form": lambda s: f"/comments/approve/{s.held_id}",
    "queue": lambda s: "/admin/marginalia_comments/moderation/",
    "queue of spam": lambda s: "/admin/marginalia_comments/moderation/?state=spam",
    "published, for admin": lambda s: "/admin/marginalia_comments/moderation/search?state=public",
    "in the admin": lambda s: s.admin,
}
LISTS = {
    "page of the post",
    "discussion",
    "discussion, newest",
    "comment feed",
    "my comments",
    "queue",
    "queue of spam",
}


@pytest.fixture(scope="module")
def comments(world: World) -> dict[str, Said]:
    return {state: Said(world, state) for state in STATES}


def shows_it(world, comments, action, state, kind, shows):
    one = comments[state]
    if is_moderator := kind in ("moderator", "administrator"):
        pending.lease(str(world.users[kind].pk), PAGE_SIZE)
    answer = world.ask(kind, PATHS[action](one))
    if is_moderator:
        pending.release(str(world.users[kind].pk))
    if not shows:
        assert remark(state) not in body(answer)
        assert one.slug not in body(answer) or one.slug in answer.wsgi_request.get_full_path() or state == "removed"
        if action not in LISTS and action not in ("published, for admin",) and (action, state) != ("thread", "removed"):
            goes = (answer.status_code, state) == (302, "removed") and action in ("permalink", "delete form")
            assert is_refused(answer) or goes or (action, state) == ("after posting", "removed")
    elif action == "permalink":
        assert one.slug in answer["Location"]
    else:
        assert remark(state) in body(answer)
    if action in ("page of the post", "discussion") and state in ("held", "spam", "removed"):
        assert "No comments yet" in body(answer), "nor is it counted"


@pytest.mark.slow_after(2)
@pytest.mark.parametrize(("action", "row"), rows(READING, STATES))
def test_comment_is_shown_to_the_right_accounts(world, comments, action, row):
    row.ask(partial(shows_it, world, comments, action))


def do(world: World, one: Said, action: str, kind: str) -> None:
    # The list of the decision: pending comments, or spam.
    listed = "spam" if one.state == "spam" else ""
    chosen = {"chosen": one.held_id, "action": action.partition(" ")[0], "state": listed}
    match action:
        case "edit":
            world.ask(kind, one.one("edit"), {"text": "Changed", "rev": "1", "nonce": f"n{kind}"})
        case "delete" | "flag":
            world.ask(kind, one.one(action), {})
        case "approve":
            world.ask(kind, f"/comments/approve/{one.held_id}", {})
        case "approve in bulk" | "reject in bulk":
            world.ask(kind, f"{ADMIN}decide", chosen)
        case "hide on the page" | "spam on the page" | "lock on the page" | "pin on the page":
            world.ask(kind, f"{one.one('moderate')}?do={action.partition(' ')[0]}", {"rev": str(_rev(one))})
        case "close its discussion":
            world.ask(kind, one.of("manage"), {"initial-is_open": "True", "slow_seconds": "0", "save": "1"})
        case "all like this":
            world.ask(kind, one.alike, {"by": "text"})
        case "ban its words":
            world.ask(kind, f"{ADMIN}bans/add", {"kind": "words", "value": one.word, "hide": "1"})
        case "spam in the search" | "show in the search":
            do = "spam" if action.startswith("spam") else "restore"
            world.ask(kind, f"{ADMIN}search", {"action": do, "chosen": f"{one.target} {one.slug}"})
        case _ if action.startswith(API):
            method, path, said = _requests(one, listed)[action]
            answer = world.send(kind, method, path, said, If_Match=f'"{_rev(one)}"')
            assert answer.status_code < 500, body(answer)
        case _:
            world.ask(kind, one.admin, {action.partition(" ")[0]: "x", "rev": str(_rev(one))})


def _requests(one: Said, listed: str) -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Return the method, the path and the body of each API request."""
    comment = f"/nodes/{one.thing.id}/comments/{one.slug}"
    discussion = f"/nodes/{one.thing.id}/discussion"
    approved = {"action": "approve", "seen": listed or "waiting", "items": [{"id": one.held_id, "rev": 1}]}
    return {
        "api change": ("PATCH", comment, {"text": "Changed"}),
        "api delete": ("DELETE", comment, {}),
        "api approve": ("POST", "/comments/decisions", approved),
        "api restore": ("POST", f"{comment}/restore", {}),
        "api lock its thread": ("POST", discussion, {"lock": one.slug}),
        "api close": ("POST", discussion, {"open": False}),
        "api hide all found": ("POST", "/comments/bulk-decisions", {"action": "spam", "filters": {"q": one.word}}),
        "api ban": ("POST", "/comments/bans", {"kind": "words", "value": one.word, "hide": True}),
    }


def _rev(one: Said) -> int:
    try:
        return selectors.get(one.target, one.slug).rev
    except CommentNotFound:
        return 1


@pytest.fixture(scope="module")
def untouched(world: World) -> dict[str, Said]:
    return {state: Said(world, state) for state in STATES}


def does(world, untouched, action, state, kind, may):
    one = Said(world, state) if may else untouched[state]
    before = one.look()
    do(world, one, action, kind)
    assert (one.look() != before) is may, (before, one.look())


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(("action", "row"), rows(WRITING, STATES))
def test_comment_actions_need_the_right_account(world, untouched, action, row):
    row.ask(partial(does, world, untouched, action))


def undo(world: World, action: str, kind: str, batch: Batch, ban: Ban) -> None:
    match action:
        case "undo in the admin":
            world.ask(kind, f"{ADMIN}decisions/{batch.id}", {})
        case "lift a ban":
            world.ask(kind, f"{ADMIN}bans/{ban.id}/lift", {})
        case "api undo":
            world.send(kind, "POST", f"/comments/bulk-decisions/{batch.id}/undo", {})
        case _:
            world.send(kind, "DELETE", f"/comments/bans/{ban.id}", {})


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(("action", "row"), rows(UNDOING, ("undone",)))
def test_decisions_are_undone_only_by_moderators(world, action, row):
    one = Said(world, "public")

    def is_undone(_state, kind, may):
        batch = backend().start_batch(Selection(comments=((one.target.id, one.slug),)), Verdict.SPAM)
        backend().work_on_batch(batch.id)
        ban = backend().bans.add(TermKind.PATTERN, one.word, reason="", by="", expires=None)
        undo(world, action, kind, batch, ban)
        is_lifted = backend().bans.get(ban.id) is None
        is_restored = not selectors.get(one.target, one.slug).removed
        assert (is_lifted or is_restored) is may
        backend().undo_batch(batch.id)
        backend().work_on_batch(batch.id)

    row.ask(is_undone)
