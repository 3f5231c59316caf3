"""A site with something in every state, and one account of every kind, for the tables of this folder.

Each thing contains words that nothing else has (`word(state)`), so a search for them shows where it appears.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from html import unescape
from typing import Any

import pytest
from bson import ObjectId
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser, Group
from django.http.response import HttpResponseBase
from django.test import Client

from api.rights import tokens
from api.rights.scopes import Scope
from cms.testing import build
from marginalia.mongo.connection import database
from nodes.collections import RENDITIONS
from nodes.services import drafts, editing, trash
from nodes.types import Actor, TagChange
from reader import page_cache
from tests.support.commands import CommandLog
from tests.support.nodes import photo_build, pictures

# The accounts. `owner` and `author` are both of the group Authors. The owner wrote the things, the author did not.
GROUPS = {
    "anonymous": None,
    "reader": None,
    "owner": "Authors",
    "author": "Authors",
    "editor": "Editors",
    "moderator": "Moderators",
    "administrator": "Administrators",
}
KINDS = tuple(GROUPS)
FUTURE = datetime(2999, 5, 1, tzinfo=UTC)
# Published in separate months, in this order, so that no thing is a neighbour of two others.
PUBLISHED = {"live": datetime(2021, 3, 1, tzinfo=UTC), "drafted": datetime(2021, 4, 1, tzinfo=UTC)}
STATES = ("live", "drafted", "draft", "scheduled", "expired", "private", "trashed")


def word(state: str) -> str:
    """Return the word that only the thing in this state contains in its title, summary and text."""
    return f"zq{state}zq"


def remark(state: str) -> str:
    """Return the word of the comments on the thing in this state."""
    return f"zc{state}zc"


@dataclass(frozen=True)
class Thing:
    """A post and its names: its URL, its first revision (with another text), and its discussion."""

    id: ObjectId
    slug: str
    path: str
    first: ObjectId

    def admin(self, page: str) -> str:
        return f"/admin/nodes/node/{self.id}/{page}/"


# Collections that viewing a page can write: sessions, new sizes of pictures, and the last use of a token.
CACHES = {"django_session", f"{RENDITIONS}.files", f"{RENDITIONS}.chunks"}
TOKENS = {"rate_limits", "api.tokens"}


class World:
    """Accounts, sections and posts, created once for all cells that only read."""

    def __init__(self) -> None:
        page_cache.storage.clear()
        self.users, self.clients = {}, {}
        # With a token of every scope, which has all permissions of its owner.
        self.programs: dict[str, Client] = {}
        for kind, group in GROUPS.items():
            self.clients[kind] = Client()
            if kind != "anonymous":
                self.users[kind] = user = get_user_model()._default_manager.create_user(
                    kind, f"{kind}@example.org", "pw", is_staff=group is not None
                )
                user.groups.set(Group.objects.filter(name=group))
                self.clients[kind].force_login(user)
            self.programs[kind] = Client(headers=self._token(kind))
        self.chief = Actor.of(self.users["editor"])
        self.owner = Actor.of(self.users["owner"])
        self.blog = build.node("blog", "news", title="News")
        self.second = build.node("blog", "second", title="Second")
        self.hidden = build.node("blog", "hidden", title="Zqsection", published=None)
        self.gallery = photo_build.gallery("gallery", title="Gallery")
        self.dark = photo_build.gallery("dark", title="Dark", published=None)
        self._made = 0
        self._answers: dict[tuple[str, str], HttpResponseBase] = {}

    def user(self, kind: str) -> Any:
        """Return the account of a kind."""
        return self.users.get(kind) or AnonymousUser()

    def thing(self, state: str, *, marker: str = "") -> Thing:
        """Create a post of the owner in a state."""
        self._made += 1
        marker, parent = marker or word(state), self.hidden if state == "private" else self.blog
        slug = f"s{state}{self._made}"
        said = {"summary": f"{marker} summary", "detail.text": f"Text {marker} w{state} common", "author": None}
        made = editing.create(
            self.owner, type="blog-entry", parent_id=parent, slug=f"old-{slug}", title="Before", fields=said | {
                "author": self.owner.as_document(), "published": PUBLISHED.get(state, _published(state)),
            }, tags=("shared", f"tag{state}"),
        )  # fmt: skip
        live = "Plain words" if state == "drafted" else marker
        changed: dict[str, Any] = {"title": f"Title {live}", "slug": slug}
        if state == "drafted":
            changed |= {"summary": "plain summary", "detail.text": "Text plain words common"}
        if state == "expired":
            changed["expires"] = datetime(2021, 6, 1, tzinfo=UTC)
        saved = editing.save(self.chief, made.id, made.nonce, changed)
        if state == "drafted":
            drafted = {"title": f"Title {marker}", "detail.text": f"Text {marker} common"}
            drafts.save_draft(self.owner, made.id, saved.nonce, drafted)
        if state == "trashed":
            trash.trash(self.chief, made.id, saved.nonce)
        section = "hidden" if state == "private" else "news"
        return Thing(made.id, slug, f"/{section}/{slug}", made.nonce)

    def photo(self, state: str) -> Thing:
        """Upload a photo in a state. `first` is the id of its file."""
        self._made += 1
        marker, slug = word(state), f"p{state}{self._made}"
        fields = {"published": _published(state), "detail.alt": f"Alt {marker}", "summary": f"Said {marker}"}
        fields |= {"title": f"Title {marker}", "slug": slug}
        if state == "expired":
            fields["expires"] = datetime(2021, 6, 1, tzinfo=UTC)
        data = pictures.jpeg(picture=pictures.image(seed=self._made))
        made = photo_build.upload(
            self.dark if state == "private" else self.gallery, data, f"n{marker}.jpg", fields=fields
        )
        editing.change_tags(made, TagChange(added=frozenset({"shared"})), "cms.assets.files")
        content = stored(made)["metadata"]["content_id"]
        if state == "trashed":
            trash.trash(self.chief, made, stored(made)["metadata"]["nonce"], "cms.assets.files")
        return Thing(made, slug, f"/{'dark' if state == 'private' else 'gallery'}/{slug}", content)

    def kept(self, kind: str, path: str) -> HttpResponseBase:
        """Return the response of a path to a kind of account, requested once."""
        if (kind, path) not in self._answers:
            self._answers[kind, path] = self._get(kind, path)
        return self._answers[kind, path]

    def ask(self, kind: str, path: str, data: dict[str, Any] | None = None) -> HttpResponseBase:
        """Return the response of a path to a kind of account, for a GET or a POST."""
        return self._get(kind, path) if data is None else self.clients[kind].post(path, data)

    def send(self, kind: str, method: str, path: str, said: Any, **headers: str) -> HttpResponseBase:
        """Return the response of the API to JSON of a kind of account, with a token."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        answer: HttpResponseBase = self.programs[kind].generic(
            method, f"/api/v1{path}", json.dumps(said), "application/json", headers=named
        )
        return answer

    def _token(self, kind: str) -> dict[str, str]:
        if kind not in self.users:
            return {}
        return {"Authorization": f"Bearer {tokens.create(self.users[kind], kind, tuple(Scope))[1]}"}

    def _get(self, kind: str, path: str) -> HttpResponseBase:
        answer = self._read(self.clients[kind], path, CACHES)
        if path.startswith("/api/"):
            by_token = self._read(self.programs[kind], path, CACHES | TOKENS)
            assert _said(by_token) == _said(answer), f"{path} says the same to a session and a token of every scope"
        return answer

    def _read(self, client: Client, path: str, caches: set[str]) -> HttpResponseBase:
        with CommandLog().recorded() as log:
            answer: HttpResponseBase = client.get(path)
        if log.written - caches:
            # Other code in this process writes now and then. A page that writes does so every time.
            with CommandLog().recorded() as log:
                client.get(path)
        assert not log.written - caches, f"GET {path} wrote to {log.written}"
        return answer


def _said(answer: Any) -> tuple[int, bytes]:
    return answer.status_code, b"" if answer.streaming else answer.content


def _published(state: str) -> datetime | None:
    if state == "draft":
        return None
    return FUTURE if state == "scheduled" else datetime(2021, 5, 1, tzinfo=UTC)


def body(response: HttpResponseBase) -> str:
    """Return the whole response: its body and its headers."""
    content = b"".join(response.streaming_content) if response.streaming else response.content  # type: ignore[attr-defined]
    headers = "\n".join(f"{name}: {value}" for name, value in response.items())
    return f"{headers}\n\n{content.decode(errors='replace')}"


def is_refused(response: HttpResponseBase) -> bool:
    """Return whether a response is a refusal: not found, forbidden, or a login."""
    to_log_in = response.status_code == 302 and re.match(r"/(admin/login/|log-in)", response["Location"])
    return bool(to_log_in) or response.status_code in (403, 404, 410)


def told(response: HttpResponseBase) -> tuple[int, str]:
    """Return a response without the parts that differ between requests, to compare two.

    Expires is the time of the response plus max-age of its Cache-Control, which stays.
    """
    text = re.sub(
        r'(name="csrfmiddlewaretoken" value|nonce|value)="[^"]*"|[0-9a-f]{24}|[0-9a-f]{16}', "", body(response)
    )
    return response.status_code, re.sub(
        r"(?m)^(X-Request-ID|Content-Length|Content-Security-Policy|ETag|Expires).*$", "", unescape(text)
    )


# Accounts by letters, in tables.
LETTERS = {
    "n": "anonymous", "r": "reader", "o": "owner", "w": "author", "e": "editor", "m": "moderator", "a": "administrator",
}  # fmt: skip
# For these accounts, hidden things look like missing ones.
NOT_TOLD = ("anonymous", "reader", "author", "moderator")
# The first words of rows about the API.
API = "api "
# The accounts in the quick tests, with the most error-prone permissions. The slow tests have the others.
QUICK = ("anonymous", "owner", "author")


@dataclass(frozen=True)
class Row:
    """A row of a table for some accounts. A cell is (state, account, whether it is permitted)."""

    cells: tuple[tuple[str, str, bool], ...]

    def ask(self, question: Callable[[str, str, bool], None]) -> None:
        """Ask a question for every cell, and fail with all wrong cells."""
        wrong = []
        for state, kind, may in self.cells:
            try:
                question(state, kind, may)
            except AssertionError as error:
                wrong.append(f"{state}, {kind} ({'may' if may else 'may not'}): {error}")
        assert not wrong, "\n\n".join(wrong)


def rows(text: str, columns: tuple[str, ...], quick: tuple[str, ...] = QUICK) -> list[Any]:
    """Return a parameter (action, row) for each row of a table: a quick one, and a slow one for other accounts.

    All API rows are slow, because tests/api has its own quick tests. A cell contains the letters of permitted accounts. "+"
    stands for all kinds of accounts, "-" for none.
    """
    cells: dict[str, list[tuple[str, str, bool]]] = {}
    for action, state, who in table(text, columns):
        may = {LETTERS[letter] for letter in who.strip("-+")} if who != "+" else set(KINDS)
        cells.setdefault(action, []).extend((state, kind, kind in may) for kind in KINDS)
    found = []
    for action, all_cells in cells.items():
        soon = tuple(cell for cell in all_cells if cell[1] in quick)
        later = tuple(cell for cell in all_cells if cell[1] not in quick)
        marks = (pytest.mark.slow,) if action.startswith(API) else ()
        found.append(pytest.param(action, Row(soon), id=action, marks=marks))
        if later:
            found.append(pytest.param(action, Row(later), id=f"{action}, others", marks=pytest.mark.slow))
    return found


def translations(text: str) -> list[Any]:
    """Return a parameter (action, state, permitted, not permitted) for each row of a table of requests."""
    cells = iter(table(text, ("state", "may", "not")))
    return [
        pytest.param(action, state, LETTERS[may], LETTERS[not_], id=action)
        for (action, _, state), (_, _, may), (_, _, not_) in zip(cells, cells, cells, strict=True)
    ]


def table(text: str, columns: tuple[str, ...]) -> list[tuple[str, str, str]]:
    """Return the cells (row, column, text) of a table with one line per row, its name first."""
    head, *lines = [line for line in text.strip().splitlines() if line.strip()]
    assert tuple(head.split()) == columns, "the head of the table names the columns"
    cells = []
    for line in lines:
        name, *values = line.rsplit(maxsplit=len(columns))
        assert len(values) == len(columns), line
        cells += [(name, column, value) for column, value in zip(columns, values, strict=True)]
    return cells


def stored(node_id: ObjectId) -> dict[str, Any]:
    """Return the document of a node, wherever it is stored, or {}."""
    db = database()
    for name in ("cms.nodes", "cms.assets.files", "cms.trash"):
        if found := db[name].find_one({"_id": node_id}):
            return {**found, "in": name}
    return {}
