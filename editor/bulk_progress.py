"""Bulk actions in small batches: a script sends what was chosen bit by bit, to show how far it is, and may stop.

Each answer carries, signed, what came of all batches so far; the last request, which the browser sends as a plain form, brings
it along, so that one message tells everything and one button undoes it. Without a script that request is the only one.
"""

from dataclasses import dataclass
from typing import Any

from bson import ObjectId
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, JsonResponse

from nodes.services.bulk_actions import Refused, SelectedNode, Summary

# What the script sends: that more will follow, and what came of the batches before.
MORE, SO_FAR = "more", "so_far"
# Seconds after which what came of the batches before is not taken any more.
LONGEST = 60 * 60


@dataclass(frozen=True)
class Outcome:
    """What came of a bulk action: (id, nonce as it was shown) of what was done, and what was left as it is."""

    done: tuple[tuple[ObjectId, ObjectId], ...] = ()
    refused: tuple[Refused, ...] = ()

    def with_batch(self, chosen: list[SelectedNode], summary: Summary, denied: list[Refused]) -> "Outcome":
        """Return this and what came of one more batch."""
        refused = {one.chosen.id for one in summary.refused}
        done = tuple((one.id, one.nonce) for one in chosen if one.id not in refused)
        return Outcome((*self.done, *done), (*self.refused, *summary.refused, *denied))


def so_far(request: HttpRequest) -> Outcome:
    """Return what came of the batches before this request. Raises PermissionDenied for what this user was not given."""
    text = request.POST.get(SO_FAR, "")
    if not text:
        return Outcome()
    try:
        said = signing.loads(text, salt=_salt(request), max_age=LONGEST)
    except signing.BadSignature as error:
        raise PermissionDenied from error
    return Outcome(
        tuple((ObjectId(node_id), ObjectId(nonce)) for node_id, nonce in said["done"]),
        tuple(
            Refused(SelectedNode(ObjectId(node_id), ObjectId(nonce), title), reason)
            for node_id, nonce, title, reason in said["refused"]
        ),
    )


def answer(request: HttpRequest, outcome: Outcome) -> JsonResponse:
    """Give the script what came of the batches so far, to be sent with the next."""
    said: dict[str, Any] = {
        "done": [(str(node_id), str(nonce)) for node_id, nonce in outcome.done],
        "refused": [
            (str(one.chosen.id), str(one.chosen.nonce), one.chosen.title, one.reason) for one in outcome.refused
        ],
    }
    return JsonResponse({SO_FAR: signing.dumps(said, salt=_salt(request), compress=True)})


def _salt(request: HttpRequest) -> str:
    return f"editor.bulk_progress:{request.user.pk}"
