"""A node's history: who saved what, the difference of any two versions, and going back, which is a save like any other."""

from typing import Any

from bson import ObjectId
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from editor import differences, outcomes
from editor.editing import show_conflict
from editor.fields import TagsSeenField
from editor.operations import Confirmation
from editor.site import actor, admin_url, page
from nodes import access
from nodes.access import Action
from nodes.content import declared_fields
from nodes.errors import EditConflict, NodeError
from nodes.selectors import editable_nodes, history
from nodes.selectors.editable_nodes import Version
from nodes.services import editing
from nodes.types import Act, TagChange

# Going back to an old text neither moves a page nor takes it from the public.
NOT_RESTORED = frozenset({"slug", "parent_id", "published", "expires", "author"})

ACTS = {
    Act.CREATED: gettext_lazy("Created"),
    Act.IMPORTED: gettext_lazy("Imported"),
    Act.SAVED: gettext_lazy("Saved"),
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
    """List the saves of a node, newest first: those of one sitting as one, unless ?each= is given."""
    found = access.node(request.user, node_id, Action.VIEW)
    listed = saves(request, node_id, found.live.nonce, found.node.metadata.type)
    return page(request, "history", _("History"), found=found, **listed)


def saves(request: HttpRequest, node_id: ObjectId, present: ObjectId, type: str) -> dict[str, Any]:
    """Return what a page shows of the saves that led to the nonce `present`, from ?after= on, the newest first."""
    after = request.GET.get("after", "")
    each = "each" in request.GET
    skip_until = ObjectId(after) if ObjectId.is_valid(after) else None
    revisions, has_older = history.newest(node_id, present, skip_until=skip_until)
    sittings = [history.Sitting((r,)) for r in revisions] if each else history.sittings(revisions)
    rows = [
        {
            "revision": sitting.revisions[0],
            "saves": len(sitting.revisions),
            "since": sitting.revisions[-1].version.saved_at,
            "acts": [ACTS[act] for act in sitting.revisions[0].acts],
            "changed": differences.labels(sitting.changed, type),
        }
        for sitting in sittings
    ]
    older = str(revisions[-1].version.nonce) if has_older else ""
    return {"rows": rows, "older": older, "each": each, "after": after}


@require_safe
def compare(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Show the difference of the versions ?old= and ?new=, the older first."""
    found = access.node(request.user, node_id, Action.VIEW)
    old, new = (_version(node_id, request.GET.get(name, "")) for name in ("old", "new"))
    if old.saved_at > new.saved_at:
        old, new = new, old
    before, after = ({**version.fields, "tags": sorted(version.tags)} for version in (old, new))
    changes = differences.changes(before, after, found.node.metadata.type, request.user)
    return page(request, "compare", _("Differences"), found=found, old=old, new=new, changes=changes)


@require_http_methods(["GET", "HEAD", "POST"])
def restore(request: HttpRequest, node_id: ObjectId, nonce: ObjectId) -> HttpResponse:
    """Show an old version beside the present one; go back to it."""
    found = access.node(request.user, node_id, Action.VIEW)
    old = _version(node_id, str(nonce))
    form = Confirmation(request, found, tags_seen=TagsSeenField(initial=list(found.live.tags)))
    known = declared_fields.keep_declared(found.node.metadata.type, old.fields)
    # Who may comment is for those to say who may publish.
    kept = NOT_RESTORED if request.user.has_perm("nodes.publish_node") else NOT_RESTORED | {"detail.comments"}
    wanted = {path: value for path, value in known.items() if path not in kept}
    if request.method == "POST" and form.is_valid():
        found = access.node(request.user, node_id, Action.EDIT)
        seen = form.cleaned_data["nonce"]
        tags = TagChange.between(form.cleaned_data["tags_seen"], old.tags)
        try:
            bound = access.changes_unpublished_only(request.user)
            saved = editing.save(actor(request), node_id, seen, wanted, tags, only_unpublished=bound, act=Act.RESTORED)
        except EditConflict as error:
            return show_conflict(request, found, error, form_id=ObjectId(), seen=seen, drafting=False)
        except NodeError as error:
            form.add_error(None, str(error))
        else:
            outcomes.tell(request, saved, found.node, Act.RESTORED, seen=seen)
            return HttpResponseRedirect(admin_url("change", node_id))
    present = {path: value for path, value in found.live.fields.items() if path not in kept}
    changes = differences.changes(
        {**present, "tags": sorted(found.live.tags)},
        {**wanted, "tags": sorted(old.tags)},
        found.node.metadata.type,
        request.user,
    )
    may_edit = access.allowed(request.user, found.node, Action.EDIT)
    return page(
        request, "restore", _("An older version"), found=found, old=old, changes=changes, form=form, may_edit=may_edit
    )


def _version(node_id: ObjectId, nonce: str) -> Version:
    version = editable_nodes.load_version(node_id, ObjectId(nonce)) if ObjectId.is_valid(nonce) else None
    if version is None:
        raise Http404(_("That version is not known any more."))
    return version
