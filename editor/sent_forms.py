"""What the forms of nodes and photos share once they are sent: what they were rendered from, refusals, and who else saved."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from bson import ObjectId
from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext as _

from editor import conflict
from editor.conflict import Decided
from editor.forms import NodeForm
from editor.site import actor
from nodes.errors import EditConflict, FieldRefused, InvalidPlace, InvalidSlug, NodeError, NotReady, SlugTaken
from nodes.selectors import editable_nodes, history
from nodes.selectors.editable_nodes import Version
from nodes.services.write import NOT_DRAFTED

# A form posted only to be shown again: after a log-in that had expired.
KEPT = "_kept"


def seen(posted: QueryDict, node_id: ObjectId) -> Version | None:
    """Return the version that a sent form was rendered from; None if it names none, or one that is not known any more."""
    nonce = posted.get("nonce", "")
    return editable_nodes.load_version(node_id, ObjectId(nonce)) if ObjectId.is_valid(nonce) else None


def is_to_be_saved(posted: QueryDict, form: NodeForm, decided: Decided) -> bool:
    """Return whether a sent form is whole, all is decided, and it was not sent only to be shown again; else say why at it."""
    valid = form.is_valid()
    for name, reason in decided.undecided:
        form.add_error(name, reason)
    if KEPT in posted:
        # What is not written yet is not wrong before it is sent.
        for name in [name for name in form.errors if form.has_error(name, "required")]:
            del form.errors[name]
    return KEPT not in posted and valid and not decided.undecided


def due(posted: QueryDict) -> datetime | None:
    """Return the time that the page of a conflict carries: what was decided on it is scheduled for then."""
    try:
        moment = datetime.fromisoformat(posted.get("due", ""))
    except ValueError:
        return None
    return moment if moment.tzinfo else None


def check_place_left_alone(form: NodeForm, mine: Mapping[str, Any]) -> None:
    """Raise InvalidPlace if what is to be a draft changes the address."""
    said = form.seen.fields if form.seen else {}
    if any(path in mine and path in said and mine[path] != said[path] for path in NOT_DRAFTED):
        raise InvalidPlace(_("A draft cannot change the address. Put section and slug back, or save them live."))


def refuse(form: NodeForm, error: NodeError) -> None:
    """Say at its field why a write was refused."""
    field = {SlugTaken: "slug", InvalidSlug: "slug", InvalidPlace: "section", NotReady: "alt"}.get(type(error))
    if isinstance(error, FieldRefused):
        field = next((name for name, path in form.paths.items() if path == error.path), error.path)
    form.add_error(field if field in form.fields else None, str(error))
    if isinstance(error, SlugTaken):
        form.free_slug = error.free


def told_of(
    request: HttpRequest, node_id: ObjectId, since: ObjectId | None, error: EditConflict
) -> dict[str, str | bool]:
    """Return what a conflict page says of the saves since a nonce.

    {"savers": whose they are, "is_own": whether they are all the editor's own, in another window, "merged": what merged}.
    """
    savers = history.savers_since(node_id, since, error.theirs["nonce"])
    others = dict.fromkeys(saver.name for saver in savers if saver.id != actor(request).id)
    is_own = bool(savers) and not others
    return {"savers": ", ".join(others), "is_own": is_own, "merged": conflict.merged(error)}
