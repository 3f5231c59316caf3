"""The search in the admin: pages, photos, comments, people, and the pages and settings of the admin itself.

Each search finds only what the user can open. Searches for pages, uploads and comments are limited in documents or time.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from bson import ObjectId
from django.contrib.auth import get_user_model
from django.urls import reverse
from django.utils.translation import gettext as _

from cms.dashboard.navigation import Link, Rail
from editor.settings import SettingsForm
from marginalia.comments.errors import SearchTimeout
from marginalia.comments.moderation import batches, searches
from marginalia.comments.moderators import is_moderator
from marginalia.comments.types import Found as Match
from marginalia.comments.types import State, Verdict
from marginalia.markup.text import fold
from nodes import access
from nodes.collections import ASSET_FILES
from nodes.content import FILE
from nodes.models import File, Node, Photo
from nodes.selectors import picking
from photos import addresses

LONGEST = 200
# Maximum number of results of each kind.
SHOWN = 6


@dataclass(frozen=True)
class Found:
    """A result of a search."""

    title: str
    url: str
    details: str = ""
    thumbnail: str = ""


@dataclass(frozen=True)
class FoundGroup:
    """The results of one kind. `more` is the URL of a longer list of results, or ""."""

    label: str
    results: list[Found]
    more: str = ""


def search(user: Any, query: str, rail: Rail) -> list[FoundGroup]:
    """Return what `user` finds for the words in `query`, grouped by kind. Groups without results are left out."""
    words = fold(query).split()
    if not words:
        return []
    groups = [
        _pages(user, query),
        *_uploads(user, query),
        FoundGroup(_("Comments"), list(_comments(user, query))),
        _people(user, words, query),
        FoundGroup(_("Settings"), list(_settings(user, words, rail))),
    ]
    return [group for group in groups if group.results]


def find_nodes(user: Any, query: str, collection: str = "") -> list[Node | Photo | File]:
    """Return the pages that `user` can open, or the photos and files, that match `query`."""
    if collection:
        return picking.by_words(query, SHOWN, collection=collection) if access.may_see_photos(user) else []
    if not access.may_list(user):
        return []
    return picking.by_words(query, SHOWN, among={} if access.sees_all(user) else {"metadata.author._id": user.pk})


def _pages(user: Any, query: str) -> FoundGroup:
    results = [
        Found(node.metadata.title, reverse("admin:nodes_node_change", args=[node.pk]), _details(node))
        for node in find_nodes(user, query)
    ]
    return FoundGroup(_("Pages"), results, reverse("admin:nodes_node_changelist", query={"q": query}))


def _details(node: Node) -> str:
    return f"{node.type_label} · {node.get_absolute_url()}"


def _uploads(user: Any, query: str) -> Iterator[FoundGroup]:
    """Yield the photos and the files, which one query finds together."""
    found = find_nodes(user, query, ASSET_FILES)
    photos = [
        Found(photo.metadata.title, addresses.admin_path(photo.pk), thumbnail=addresses.square_path(photo, 160))
        for photo in found
        if isinstance(photo, Photo)
    ]
    yield FoundGroup(_("Photos"), photos, reverse("admin:nodes_photo_changelist", query={"q": query}))
    files = [
        Found(file.metadata.title, addresses.admin_path(file.pk, FILE), file.filename)
        for file in found
        if isinstance(file, File)
    ]
    yield FoundGroup(_("Files"), files, reverse("admin:nodes_file_changelist", query={"q": query}))


def _comments(user: Any, query: str) -> Iterator[Found]:
    """Yield comments whose text contains words that begin with those typed, or whose author's name begins with them."""
    if not is_moderator(user):
        return
    found: list[Match] = []
    # Many words can have a short beginning. If the time runs out, the comments found until then are shown.
    with suppress(SearchTimeout), searches.time_limit():
        for selection in (batches.of_beginnings(query), batches.of_name(query)):
            found += searches.find(selection, (State.PUBLIC, Verdict.WAITING), limit=SHOWN)
    newest_first = sorted(found, key=lambda match: (bool(match.held_id), match.posted), reverse=True)
    unique = list({match.id: match for match in newest_first}.values())
    for hit in searches.with_texts(unique[:SHOWN]):
        yield _comment(hit)


def _comment(hit: searches.Hit) -> Found:
    comment = hit.comment
    beginning = " ".join(comment.source.split())[:80] or "—"
    if hit.found.held_id:
        url = f"{reverse('admin:marginalia_comments_moderation_changelist')}#held-{hit.found.held_id}"
        return Found(beginning, url, " · ".join((comment.author.name, _("Pending"))))
    args = [comment.target.label, comment.target.pk, comment.slug]
    return Found(beginning, reverse("admin:marginalia_comments_moderation_comment", args=args), comment.author.name)


def _people(user: Any, words: list[str], query: str) -> FoundGroup:
    url = reverse("admin:auth_user_changelist", query={"q": query})
    if not user.has_perm("auth.view_user"):
        return FoundGroup(_("People"), [])
    staff = get_user_model()._default_manager.filter(is_staff=True).order_by("username")
    results = (
        Found(person.get_full_name() or person.get_username(), _account_url(person.pk), person.email)
        for person in staff.iterator()
        if _matches(words, (person.get_full_name(), person.get_username(), person.email))
    )
    return FoundGroup(_("People"), list(islice(results, SHOWN)), url)


def _account_url(pk: ObjectId) -> str:
    return reverse("admin:auth_user_change", args=[pk])


def _settings(user: Any, words: list[str], rail: Rail) -> Iterator[Found]:
    """Yield the pages of the admin and the site's settings whose names match."""
    links: Iterable[Link] = (link for link in rail.all_links() if _matches(words, (str(link.label),)))
    yield from (Found(str(link.label), link.url) for link in links)
    if access.may_set_up(user):
        page = reverse("admin:nodes_sitesettings_changelist")
        for tab in SettingsForm.TABS:
            for name in tab.fields:
                label = str(SettingsForm.base_fields[name].label)
                if _matches(words, (label, str(tab.label))):
                    yield Found(label, f"{page}#id_{name}", str(tab.label))


def _matches(words: list[str], texts: Iterable[str]) -> bool:
    """Return whether a word in the texts begins with each of `words`. Scripts without spaces match anywhere."""
    text = f" {fold(' '.join(texts))}"
    return all(f" {word}" in text if word.isascii() else word in text for word in words)
