"""The progress of bulk actions. A script sends the selected rows in small batches, and shows the progress.

Users can stop the script. Each response contains the signed outcome of all batches so far. The browser sends the last
batch as an ordinary form, together with the outcome of the earlier batches. A single message therefore reports all
batches, and a single button undoes them. If JavaScript is unavailable, the browser submits only the ordinary form, with
all selected rows.
"""

from dataclasses import dataclass
from typing import Any

from bson import ObjectId
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, JsonResponse

from nodes.types import Refused, SelectedNode, Summary

# The fields that the script sends: whether more batches follow, and the outcome of the earlier batches.
MORE, SO_FAR = "more", "so_far"
# How long the signed outcome of the earlier batches is valid, in seconds.
LONGEST = 60 * 60


@dataclass(frozen=True)
class Outcome:
    """The outcome of a bulk action.

    Attributes:
        done: The ids of the changed nodes, each with the nonce from the list.
        refused: The nodes that were not changed.
    """

    done: tuple[tuple[ObjectId, ObjectId], ...] = ()
    refused: tuple[Refused, ...] = ()

    def with_batch(self, chosen: list[SelectedNode], summary: Summary, denied: list[Refused]) -> "Outcome":
        """Return an outcome that also includes one more batch."""
        refused_ids = {refusal.selected.id for refusal in summary.refused}
        done = tuple((row.id, row.nonce) for row in chosen if row.id not in refused_ids)
        return Outcome((*self.done, *done), (*self.refused, *summary.refused, *denied))


def so_far(request: HttpRequest) -> Outcome:
    """Return the outcome of the batches that were processed before this request.

    Raises:
        PermissionDenied: The outcome was not signed for this user, or it has expired.
    """
    text = request.POST.get(SO_FAR, "")
    if not text:
        return Outcome()
    try:
        payload = signing.loads(text, salt=_salt(request), max_age=LONGEST)
    except signing.BadSignature as error:
        raise PermissionDenied from error
    return Outcome(
        tuple((ObjectId(node_id), ObjectId(nonce)) for node_id, nonce in payload["done"]),
        tuple(
            Refused(SelectedNode(ObjectId(node_id), ObjectId(nonce), title), reason)
            for node_id, nonce, title, reason in payload["refused"]
        ),
    )


def respond(request: HttpRequest, outcome: Outcome) -> JsonResponse:
    """Return a response with the signed outcome so far. The script sends this outcome with the next batch."""
    payload: dict[str, Any] = {
        "done": [(str(node_id), str(nonce)) for node_id, nonce in outcome.done],
        "refused": [
            (str(refusal.selected.id), str(refusal.selected.nonce), refusal.selected.title, refusal.reason)
            for refusal in outcome.refused
        ],
    }
    return JsonResponse({SO_FAR: signing.dumps(payload, salt=_salt(request), compress=True)})


def _salt(request: HttpRequest) -> str:
    return f"editor.bulk_progress:{request.user.pk}"
