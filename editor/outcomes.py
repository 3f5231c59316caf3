"""Messages shown after an action on a page.

They report the action, what readers can see now, and any merged changes.
"""

from datetime import datetime
from urllib.parse import unquote

from bson import ObjectId
from django.contrib import messages
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext as _

from editor import differences, edit_form
from editor.edit_form import PublicationState
from editor.site import get_actor
from marginalia.markup.text import slugify
from marginalia.mongo.clock import now
from nodes import access
from nodes.models import Node
from nodes.selectors import editable_nodes, history, slugs
from nodes.times import day, point
from nodes.types import Act, Saved


def report(
    request: HttpRequest,
    saved: Saved,
    before: Node | None,
    act: Act = Act.SAVED,
    *,
    drafted: bool = False,
    seen: ObjectId | None = None,
    slug: str | None = None,
) -> None:
    """Add a message about a save.

    Args:
        request: The request that saved the page.
        saved: The result of the save.
        before: The node before the save, or None if the node is new.
        act: The action, if it can't be inferred from the node before and after the save.
        drafted: Whether a draft was saved.
        seen: The nonce that the save was based on.
        slug: The slug in the form. If the node's slug is different, and isn't derived from the title either, the
            message contains the path.
    """
    editable = editable_nodes.load(saved.id)
    # If the page has since been moved to the trash, the message still confirms that the text was saved.
    message = _describe_act(before, editable.node, act, drafted=drafted) if editable else _("Saved.")
    if editable and editable.draft and (due := editable.draft.due) and (drafted or act is Act.SCHEDULED):
        pattern = _("Saved. The changes go live on %(when)s.")
        if not drafted:
            pattern = _("Scheduled. The changes go live on %(when)s.")
        message = " ".join((pattern % {"when": point(due, now())}, _("Until then, readers see the live version.")))
    if editable and slug is not None and not _has_slug(editable.node, slug):
        address = _("The page's URL is %(address)s.") % {"address": unquote(editable.node.get_absolute_url())}
        message = format_html("{} {}", message, address)
    if (
        editable
        and not drafted
        and act is not Act.SCHEDULED
        and edit_form.publication_state(editable.node, now()) is PublicationState.LIVE
    ):
        message = format_html('{} <a href="{}">{}</a>', message, editable.node.get_absolute_url(), _("View page."))
    if editable and act is Act.SAVED and not access.allowed(request.user, editable.node, access.NodePermission.PUBLISH):
        message = format_html("{} {}", message, _("An editor can now publish this draft."))
    if saved.unscheduled:
        message = format_html("{} {}", message, _describe_unscheduled(saved.unscheduled))
    if editable and saved.merged:
        message = format_html("{} {}", message, _describe_merge(request, saved, seen, editable.node.metadata.type))
    messages.success(request, message)


def _has_slug(node: Node, slug: str) -> bool:
    """Return whether a node has the slug that was typed.

    If no slug was typed, compare the node's slug with the one derived from the title.
    """
    return node.metadata.slug == (slugs.normalized(slug) or slugify(node.metadata.title))


def _describe_act(before: Node | None, after: Node, act: Act, *, drafted: bool) -> str:
    """Return a message about an action and what readers can see now. `before` is None for a new node."""
    moment = now()
    state = edit_form.publication_state(after, moment)
    previous = edit_form.publication_state(before, moment) if before else PublicationState.NEW
    if act is Act.MOVED:
        return _("Moved to %(address)s. The old URL redirects there.") % {"address": after.get_absolute_url()}
    if drafted:
        return (
            _("Draft saved. Readers still see the live version.")
            if state is PublicationState.LIVE
            else _("Draft saved.")
        )
    if previous is PublicationState.LIVE and state is not PublicationState.LIVE:
        return _("The page was unpublished. %(until)s") % {"until": edit_form.describe_absence(after, moment)}
    if act is Act.RESTORED:
        return _("The older version was restored.")
    match state:
        case PublicationState.DRAFT if act is Act.CHANGES_PUBLISHED:
            return _("The draft's changes are now part of the page. The page isn't public.")
        case PublicationState.DRAFT if previous is PublicationState.SCHEDULED:
            return _("The schedule was cancelled. The page is a draft.")
        case PublicationState.DRAFT:
            return _("Draft saved.")
        case PublicationState.SCHEDULED:
            when = point(after.metadata.published, moment)
            return _("Scheduled. The page goes live on %(when)s.") % {"when": when}
        case PublicationState.EXPIRED:
            return _("Saved. Readers can't see the page, because it expired on %(when)s.") % {
                "when": day(after.metadata.expires, moment)
            }
        case PublicationState.HIDDEN if previous is state:
            return _("Updated. Readers will see the page when its section is public.")
        case PublicationState.HIDDEN:
            return _("Published. Readers will see the page when its section is public.")
        case _ if previous is PublicationState.LIVE:
            return _("Changes published.") if act is Act.CHANGES_PUBLISHED else _("Updated.")
    return _("Published.")


def _describe_unscheduled(due: datetime) -> str:
    return _("The changes planned for %(when)s are no longer scheduled. They are saved as a draft.") % {
        "when": point(due, now())
    }


def _describe_merge(request: HttpRequest, saved: Saved, seen: ObjectId | None, type: str) -> str:
    # The list of savers includes the current user, because it covers the save that was just made.
    savers = history.savers_since(saved.id, seen, saved.nonce)
    others = dict.fromkeys(saver.name for saver in savers if saver.id != get_actor(request).id)
    params = {"who": ", ".join(others), "fields": differences.labels(saved.merged, type)}
    if others:
        return _("Merged with changes by %(who)s: %(fields)s.") % params
    return _("Merged with your changes in another window: %(fields)s.") % params
