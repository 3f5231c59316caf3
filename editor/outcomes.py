"""What an act on a page came to, in words: what happened, what follows for readers, what merged with whose changes."""

from datetime import datetime
from functools import partial
from urllib.parse import unquote

from bson import ObjectId
from django.contrib import messages
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext as _

from editor import differences, edit_form
from editor.edit_form import PublicationState
from editor.site import actor, admin_url
from marginalia.markup.text import slugify
from marginalia.mongo.clock import now
from nodes import access, rendering
from nodes.content import MARKDOWN
from nodes.models import Node
from nodes.selectors import editable_nodes, history, slugs
from nodes.selectors.editable_nodes import Version
from nodes.times import day, point
from nodes.types import Act, Saved
from photos import texts

# Of links that lead nowhere.
NAMED = 3


def tell(
    request: HttpRequest,
    saved: Saved,
    before: Node | None,
    act: Act = Act.SAVED,
    *,
    drafted: bool = False,
    seen: ObjectId | None = None,
    slug: str | None = None,
) -> None:
    """Say what a save came to.

    `before`: the node as it was, None if there was none. `act`: what was done, where the node before and after it does not
    tell; `drafted`: a draft was saved. `seen`: the nonce on which the save went on. `slug`: what the form said; an address
    that neither it nor the title leads to expect is told.
    """
    found = editable_nodes.load(saved.id)
    # Thrown away in between: what is told is that nothing was lost.
    told = _happened(before, found.node, act, drafted=drafted) if found else _("Saved.")
    if found and found.draft and (due := found.draft.due) and (drafted or act is Act.SCHEDULED):
        # Times may end with a full stop ("9 a.m."): no sentence ends with one.
        words = _("Saved. Readers see the changes from %(when)s on.")
        if not drafted:
            words = _("Scheduled. Readers see the changes from %(when)s on.")
        told = " ".join((words % {"when": point(due, now())}, _("Until then readers see the live version.")))
    if found and slug is not None and not _is_at(found.node, slug):
        address = _("Its address is %(address)s.") % {"address": unquote(found.node.get_absolute_url())}
        told = format_html("{} {}", told, address)
    if (
        found
        and not drafted
        and act is not Act.SCHEDULED
        and edit_form.publication_state(found.node, now()) is PublicationState.LIVE
    ):
        told = format_html('{} <a href="{}">{}</a>', told, found.node.get_absolute_url(), _("View it."))
    if found and act is Act.SAVED and not access.allowed(request.user, found.node, access.Action.PUBLISH):
        told = format_html("{} {}", told, _("An editor publishes it."))
    if saved.unscheduled:
        told = format_html("{} {}", told, _unscheduled(saved.unscheduled))
    if found and saved.merged:
        told = format_html("{} {}", told, _merged(request, saved, seen, found.node.metadata.type))
    messages.success(request, told)
    if found and not drafted and found.node.metadata.published:
        _warn(request, found.node, (found.draft if act is Act.SCHEDULED else None) or found.live)


def _is_at(node: Node, slug: str) -> bool:
    """Return whether a node has the slug that was typed, or where it was left empty, the plain one of its title."""
    return node.metadata.slug == (slugs.normalized(slug) or slugify(node.metadata.title))


def _warn(request: HttpRequest, node: Node, said: Version) -> None:
    """Say what a text that readers see, or are to see, leads to that they cannot."""
    text = said.fields.get("detail.text") or ""
    format = said.fields.get("detail.format") or MARKDOWN
    sees_photos = access.may_see_photos(request.user)
    sees_all = access.sees_all(request.user)
    render = partial(rendering.to_html, text, format)
    found = texts.find_broken(text, render, sees_photos=sees_photos, sees_all=sees_all)
    if not found:
        return
    named = [_("“%(words)s” (%(reason)s)") % {"words": one.label, "reason": one.reason} for one in found[:NAMED]]
    told = _("Readers cannot see what these lead to: %(links)s.")
    if len(found) > NAMED:
        told = _("Readers cannot see what these lead to: %(links)s, and more.")
    place = f"{admin_url('change', node.pk)}#broken-references"
    told %= {"links": ", ".join(named)}
    messages.warning(request, format_html('{} <a href="{}">{}</a>', told, place, _("Show them.")))


def _happened(before: Node | None, after: Node, act: Act, *, drafted: bool) -> str:
    moment = now()
    name = edit_form.publication_state(after, moment)
    was = edit_form.publication_state(before, moment) if before else PublicationState.NEW
    if act is Act.MOVED:
        return _("Moved to %(address)s. The old address leads there.") % {"address": after.get_absolute_url()}
    if drafted:
        return (
            _("Draft saved. Readers still see the live version.")
            if name is PublicationState.LIVE
            else _("Draft saved.")
        )
    if was is PublicationState.LIVE and name is not PublicationState.LIVE:
        return _("This took the page down: %(until)s") % {"until": edit_form.describe_absence(after, moment)}
    if act is Act.RESTORED:
        return _("The older version is back.")
    match name:
        case PublicationState.DRAFT if act is Act.CHANGES_PUBLISHED:
            return _("The draft is part of the page now. The page is not public.")
        case PublicationState.DRAFT if was is PublicationState.SCHEDULED:
            return _("Not scheduled any more. The page is a draft.")
        case PublicationState.DRAFT:
            return _("Draft saved.")
        case PublicationState.SCHEDULED:
            when = point(after.metadata.published, moment)
            return _("Scheduled. Readers see it from %(when)s on.") % {"when": when}
        case PublicationState.EXPIRED:
            return _("Saved. Readers get 404: the page expired %(when)s.") % {
                "when": day(after.metadata.expires, moment)
            }
        case PublicationState.HIDDEN if was is name:
            return _("Updated. Readers see the page once its section is public.")
        case PublicationState.HIDDEN:
            return _("Published. Readers see the page once its section is public.")
        case _live if was is PublicationState.LIVE:
            return _("Changes published.") if act is Act.CHANGES_PUBLISHED else _("Updated.")
    return _("Published.")


def _unscheduled(due: datetime) -> str:
    return _("The changes planned for %(when)s are not scheduled any more. They are kept as a draft.") % {
        "when": point(due, now())
    }


def _merged(request: HttpRequest, saved: Saved, seen: ObjectId | None, type: str) -> str:
    # The save itself is among them.
    savers = history.savers_since(saved.id, seen, saved.nonce)
    others = dict.fromkeys(saver.name for saver in savers if saver.id != actor(request).id)
    told = {"who": ", ".join(others), "fields": differences.labels(saved.merged, type)}
    if others:
        return _("Merged with the changes of %(who)s to: %(fields)s.") % told
    return _("Merged with what you changed in another window: %(fields)s.") % told
