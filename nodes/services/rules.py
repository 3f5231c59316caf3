"""Rules about the dates and the place of a node. Every write of these fields is checked here, whoever asks for it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from marginalia.mongo.clock import now
from nodes.errors import InvalidField
from nodes.services.write import NOT_DRAFTED
from nodes.types import NEVER


def check_dates(before: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
    """Raise InvalidField if `changes` (by path) give a node dates by which readers would never see it, or no longer.

    `before` has the fields as stored; it is empty for a new node.
    """
    if not changes.keys() & {"published", "expires"}:
        return
    moment = now()
    dates = {**before, **changes}
    published = dates.get("published")
    if published is None or published <= moment:
        return
    if published >= (dates.get("expires") or NEVER):
        raise InvalidField("expires", _("It would expire before it appears."))
    was_published = before.get("published")
    if was_published and was_published <= moment < before["expires"]:
        raise InvalidField(
            "published", _("Readers see this page: schedule the changes of its draft, or unpublish it first.")
        )


def check_future(at: datetime) -> None:
    """Raise InvalidField unless a time for publishing is in the future."""
    if at <= now():
        raise InvalidField("at", _("Choose a time ahead. To show the changes at once, publish them."))


def check_place_unchanged(changes: Mapping[str, Any], live: Mapping[str, Any]) -> None:
    """Raise InvalidField if a draft would have another slug or section than the live version. Both are by path."""
    for path in sorted(NOT_DRAFTED & changes.keys()):
        if changes[path] != live.get(path):
            raise InvalidField(
                path, _("A draft cannot change the address. Put section and slug back, or save them live.")
            )
