"""The views for a node's history: a timeline of saves, the differences of two versions, and restoring an old version."""

from datetime import datetime
from typing import Any

from bson import ObjectId
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from editor import differences, outcomes, sent_forms
from editor.editing import show_conflict
from editor.fields import TagsSeenField
from editor.operations import Confirmation
from editor.site import admin_url, render_page
from marginalia.comments.reading.presenter import avatar
from marginalia.mongo.clock import now
from nodes import access, times
from nodes.access import NodePermission
from nodes.actions import PublishDraft, SaveNode
from nodes.content import declared_fields
from nodes.errors import EditConflict, NodeError
from nodes.models import tree
from nodes.selectors import editable_nodes, history
from nodes.selectors.editable_nodes import Version
from nodes.selectors.listing import is_public
from nodes.types import Act, TagChange

# The fields that aren't restored. Restoring an old version doesn't move a page, and doesn't change its dates or author.
NOT_RESTORED = frozenset({"slug", "parent_id", "published", "expires", "author"})

ACTS = {
    Act.CREATED: gettext_lazy("Created"),
    Act.IMPORTED: gettext_lazy("Imported"),
    Act.SAVED: gettext_lazy("Saved"),
    Act.DRAFTED: gettext_lazy("Draft saved"),
    Act.RESTORED: gettext_lazy("Restored"),
    Act.MERGED: gettext_lazy("Merged"),
    Act.PUBLISHED: gettext_lazy("Published"),
    Act.CHANGES_PUBLISHED: gettext_lazy("Changes published"),
    Act.SCHEDULED_CHANGES: gettext_lazy("Scheduled changes published"),
    Act.SCHEDULED: gettext_lazy("Scheduled"),
    Act.UNPUBLISHED: gettext_lazy("Unpublished"),
    Act.MOVED: gettext_lazy("Moved"),
    Act.RENAMED: gettext_lazy("Renamed"),
    Act.REPLACED: gettext_lazy("Photo replaced"),
}


@require_safe
def index(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """List the saves of a node and its drafts, newest first.

    Saves from one sitting share a row, unless the query contains ?each=. With ?with=, users choose the save that is
    compared with this version.
    """
    editable = access.node(request.user, node_id, NodePermission.VIEW)
    context = list_saves(request, node_id, editable.live.nonce, editable.node.metadata.type)
    if "with" in request.GET:
        context["compared"] = _version(node_id, request.GET["with"])
    may_publish = access.allowed(request.user, editable.node, PublishDraft.needs)
    return render_page(request, "history", _("History"), editable=editable, may_publish=may_publish, **context)


def list_saves(request: HttpRequest, node_id: ObjectId, present: ObjectId, type: str) -> dict[str, Any]:
    """Return the template context for the list of a node's saves.

    Args:
        request: The request. The ?after= parameter identifies the last save on the previous page. If the query contains
            ?each=, each save has its own row.
        node_id: The id of the node or photo.
        present: The nonce of the current version.
        type: The content type.

    Returns:
        The context, with the saves up to `present` and the saves of drafts, newest first.
    """
    moment = now()
    after = request.GET.get("after", "")
    each = "each" in request.GET
    skip_until = ObjectId(after) if ObjectId.is_valid(after) else None
    revisions, has_older = history.newest(node_id, present, skip_until=skip_until)
    sittings = [history.Sitting((r,)) for r in revisions] if each else history.sittings(revisions)
    rows = [
        {
            "revision": sitting.revisions[0],
            "day": _day(sitting.revisions[0].version.saved_at, moment),
            "initials": avatar(sitting.revisions[0].version.saved_by)[0],
            "saves": len(sitting.revisions),
            "since": sitting.revisions[-1].version.saved_at,
            "before": sitting.revisions[-1].parent,
            "acts": [ACTS[act] for act in sitting.revisions[0].acts],
            "changed": differences.labels(sitting.changed, type),
        }
        for sitting in sittings
    ]
    older = str(revisions[-1].version.nonce) if has_older else ""
    return {"rows": rows, "older": older}


def _day(when: datetime, moment: datetime) -> str:
    """Return the day of a save: "Today", "Yesterday", or the date."""
    days = (timezone.localdate(moment) - timezone.localdate(when)).days
    return {0: _("Today"), 1: _("Yesterday")}.get(days) or times.day(when, moment)


@require_safe
def compare(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Show the differences between the versions in ?old= and ?new=. The older version comes first.

    For the live version and its draft, redirect to the page where the draft can also be published.
    """
    editable = access.node(request.user, node_id, NodePermission.VIEW)
    old, new = (_version(node_id, request.GET.get(name, "")) for name in ("old", "new"))
    is_review = editable.draft is not None and {old.nonce, new.nonce} == {editable.live.nonce, editable.draft.nonce}
    if is_review and access.allowed(request.user, editable.node, PublishDraft.needs):
        return HttpResponseRedirect(admin_url("publish", node_id))
    if old.saved_at > new.saved_at:
        old, new = new, old
    before, after = ({**version.fields, "tags": sorted(version.tags)} for version in (old, new))
    changes = differences.changes(before, after, editable.node.metadata.type, request.user)
    return render_page(request, "compare", _("Differences"), editable=editable, old=old, new=new, changes=changes)


@require_http_methods(["GET", "HEAD", "POST"])
def restore(request: HttpRequest, node_id: ObjectId, nonce: ObjectId) -> HttpResponse:
    """Show an old version next to the current one. If the form was submitted, restore the old version."""
    editable = access.node(request.user, node_id, NodePermission.VIEW)
    old = _version(node_id, str(nonce))
    form = Confirmation(request, editable, tags_seen=TagsSeenField(initial=list(editable.live.tags)))
    known = declared_fields.keep_declared(editable.node.metadata.type, old.fields)
    excluded = NOT_RESTORED | declared_fields.internal_fields(editable.node.metadata.type)
    if not request.user.has_perm("nodes.publish_node"):
        excluded |= access.PUBLISHER_FIELDS
    restored = {path: value for path, value in known.items() if path not in excluded}
    if request.method == "POST" and form.is_valid():
        seen = form.cleaned_data["nonce"]
        tags = TagChange.between(form.cleaned_data["tags_seen"], old.tags)
        action = SaveNode(user=request.user, node_id=node_id, seen=seen, fields=restored, tags=tags, act=Act.RESTORED)
        try:
            saved = action.execute()
        except EditConflict as error:
            return show_conflict(request, editable, error, form_id=ObjectId(), seen=seen, drafting=False)
        except NodeError as error:
            sent_forms.add_error(form, error)
        else:
            outcomes.report(request, saved, editable.node, Act.RESTORED, seen=seen)
            return HttpResponseRedirect(admin_url("change", node_id))
    present = {path: value for path, value in editable.live.fields.items() if path not in excluded}
    changes = differences.changes(
        {**present, "tags": sorted(editable.live.tags)},
        {**restored, "tags": sorted(old.tags)},
        editable.node.metadata.type,
        request.user,
    )
    may_edit = access.allowed(request.user, editable.node, SaveNode.needs)
    return render_page(
        request,
        "restore",
        _("Older version"),
        editable=editable,
        old=old,
        changes=changes,
        form=form,
        may_edit=may_edit,
        is_public=is_public(editable.node, tree.current(), now()),
    )


def _version(node_id: ObjectId, nonce: str) -> Version:
    version = editable_nodes.load_version(node_id, ObjectId(nonce)) if ObjectId.is_valid(nonce) else None
    if version is None:
        raise Http404(_("This version is no longer stored."))
    return version
