"""Process submitted forms for nodes and photos: find the base version, add errors, and describe others' saves."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

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

# The field that marks a form as submitted only to be shown again, for example after a login has expired.
SHOW_ONLY = "_kept"
# The fields in which a conflict page sends its description of other people's saves.
DESCRIPTION_KEYS = frozenset({"conflict-savers", "conflict-own", "conflict-merged"})


def seen_version(posted: QueryDict, node_id: ObjectId) -> Version | None:
    """Return the version that a submitted form is based on, or None if the version isn't known."""
    nonce = posted.get("nonce", "")
    return editable_nodes.load_version(node_id, ObjectId(nonce)) if ObjectId.is_valid(nonce) else None


def validate(posted: QueryDict, form: NodeForm, decisions: Decisions) -> bool:
    """Return whether a submitted form can be saved.

    A form can be saved if it is valid, if all conflicts are resolved, and if the form wasn't submitted only to be shown
    again. Otherwise, add the errors to the form.
    """
    valid = form.is_valid()
    for name, reason in decisions.undecided:
        form.add_error(name, reason)
    if SHOW_ONLY in posted:
        # An empty required field is not an error until the editor submits the form.
        for name in [name for name in form.errors if form.has_error(name, "required")]:
            del form.errors[name]
    return SHOW_ONLY not in posted and valid and not decisions.undecided


def parse_due(posted: QueryDict) -> datetime | None:
    """Return the time for which the changes on a conflict page are scheduled, or None if there is no valid time."""
    try:
        moment = datetime.fromisoformat(posted.get("due", ""))
    except ValueError:
        return None
    return moment if moment.tzinfo else None


def add_error(form: Form, error: NodeError) -> None:
    """Add an error to the form, next to the field that caused it. If there is no such field, add it to the whole form.

    If a field's path differs from the field's name, the form's `paths` attribute contains the path.
    """
    if isinstance(error, FieldRefused):
        names = {path: name for name, path in getattr(form, "paths", {}).items()}
        errors = {names.get(path, path): message for path, message in error.errors.items()}
    else:
        field = {SlugTaken: "slug", InvalidSlug: "slug", InvalidPlace: "section", NotReady: "alt"}.get(type(error), "")
        errors = {field: str(error)}
    for field, message in errors.items():
        if field in form.fields:
            form.add_error(field, message)
        elif message not in form.non_field_errors():
            form.add_error(None, message)
    if isinstance(error, SlugTaken) and isinstance(form, NodeForm):
        form.free_slug = error.free


def describe_saves(
    request: HttpRequest, node_id: ObjectId, since: ObjectId | None, error: EditConflict
) -> dict[str, str | bool]:
    """Return the template context for a conflict page that describes the saves since the version `since`.

    Returns:
        A dictionary with three keys. "savers" contains the names of other people who saved. "is_own" is true if the
        editor made all these saves in another window. "merged" contains the labels of the merged fields.
    """
    savers = history.savers_since(node_id, since, error.theirs["nonce"])
    others = dict.fromkeys(saver.name for saver in savers if saver.id != get_actor(request).id)
    is_own = bool(savers) and not others
    return {"savers": ", ".join(others), "is_own": is_own, "merged": conflict.merged_labels(error)}


def describe_conflict(
    posted: QueryDict, form: NodeForm, decisions: Decisions | None, make: Callable[..., NodeForm]
) -> dict[str, Any]:
    """Return the template context for showing a submitted conflict page again, or {} for a form without conflicts.

    Args:
        posted: The submitted data, which contains the description that `describe_saves` returned.
        form: The submitted form.
        decisions: The decisions in the submitted data.
        make: A function that creates a form.
    """
    if decisions is None or not decisions.names:
        return {}
    return {
        **conflict.as_context(conflict.ConflictForms.resubmitted(form, decisions, make).clashes(posted)),
        "savers": posted.get("conflict-savers", ""),
        "is_own": bool(posted.get("conflict-own")),
        "merged": posted.get("conflict-merged", ""),
    }
