"""Processing of sent forms of nodes and photos: the version they were rendered from, refusals, and saves by other people."""

from collections.abc import Mapping
from datetime import datetime

from bson import ObjectId
from django.forms import Form
from django.http import HttpRequest, QueryDict

from editor import conflict
from editor.conflict import Decisions
from editor.forms import NodeForm
from editor.site import get_actor
from nodes.errors import EditConflict, FieldRefused, InvalidPlace, InvalidSlug, NodeError, NotReady, SlugTaken
from nodes.selectors import editable_nodes, history
from nodes.selectors.editable_nodes import Version

# The field of a form that was posted only to be shown again, for example after an expired login.
SHOW_ONLY = "_kept"


def seen_version(posted: QueryDict, node_id: ObjectId) -> Version | None:
    """Return the version that a sent form was rendered from, or None if the form contains no known version."""
    nonce = posted.get("nonce", "")
    return editable_nodes.load_version(node_id, ObjectId(nonce)) if ObjectId.is_valid(nonce) else None


def validate(posted: QueryDict, form: NodeForm, decisions: Decisions) -> bool:
    """Return whether a sent form can be saved, because it is valid, every conflict is decided, and it was sent to be saved.

    Otherwise, add the errors to the form.
    """
    valid = form.is_valid()
    for name, reason in decisions.undecided:
        form.add_error(name, reason)
    if SHOW_ONLY in posted:
        # An empty required field is no error until the editor sends the form.
        for name in [name for name in form.errors if form.has_error(name, "required")]:
            del form.errors[name]
    return SHOW_ONLY not in posted and valid and not decisions.undecided


def parse_due(posted: QueryDict) -> datetime | None:
    """Return the time for which a conflict page schedules its changes, or None if there is no valid time."""
    try:
        moment = datetime.fromisoformat(posted.get("due", ""))
    except ValueError:
        return None
    return moment if moment.tzinfo else None


def add_error(form: Form, error: NodeError) -> None:
    """Add the reason of a refused write to the form, at its field if there is one.

    The form's attribute `paths` maps field names to paths, for fields whose path is different from their name.
    """
    field = {SlugTaken: "slug", InvalidSlug: "slug", InvalidPlace: "section", NotReady: "alt"}.get(type(error))
    if isinstance(error, FieldRefused):
        paths: Mapping[str, str] = getattr(form, "paths", {})
        field = next((name for name, path in paths.items() if path == error.path), error.path)
    form.add_error(field if field in form.fields else None, str(error))
    if isinstance(error, SlugTaken) and isinstance(form, NodeForm):
        form.free_slug = error.free


def describe_saves(
    request: HttpRequest, node_id: ObjectId, since: ObjectId | None, error: EditConflict
) -> dict[str, str | bool]:
    """Return the template context of a conflict page about the saves since the nonce `since`.

    Returns:
        "savers", the names of the other people who saved; "is_own", whether all saves are the editor's own, from
            another
        window; and "merged", the labels of the merged fields.
    """
    savers = history.savers_since(node_id, since, error.theirs["nonce"])
    others = dict.fromkeys(saver.name for saver in savers if saver.id != get_actor(request).id)
    is_own = bool(savers) and not others
    return {"savers": ", ".join(others), "is_own": is_own, "merged": conflict.merged_labels(error)}
