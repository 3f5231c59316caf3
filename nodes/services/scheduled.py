"""Changes of live pages that appear at a time of their own: once they are due, the query that reads a page shows them.

A scheduled draft was begun on the live version that is stored, but for where the page stands and its tags: any other save of
the page ends the schedule. So publishing it never asks. What is due counts as live: any save of the page publishes it
first, and the worker does so for the others. Without a worker readers see it all the same.
"""

import logging
from collections.abc import Mapping
from typing import Any

from bson import ObjectId

from marginalia.mongo import jobs
from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, database
from nodes import merging
from nodes.collections import NODES, REVISIONS
from nodes.content import upgrading
from nodes.errors import NodeError
from nodes.services import scope
from nodes.services.write import compare_and_set, submitted_fields, writable
from nodes.types import NO_TAGS, Act, Actor, Submitted, TagChange

logger = logging.getLogger(__name__)


@jobs.regularly
def publish_due() -> int:
    """Publish all scheduled changes that are due; return how many. What cannot be published is logged, and shown as it is."""
    done = 0
    for found in database()[NODES].find({"draft.due": {"$lte": now()}}, {"_id": 1}).sort("draft.due", 1):
        try:
            done += _publish(found["_id"])
        except NodeError as error:
            logger.warning("The scheduled changes of %s are shown, and cannot be published: %s", found["_id"], error)
    return done


def publish_if_due(stored: Document) -> bool:
    """Publish the scheduled changes of a node, as it was read with its `draft.due`, if they are due; return whether they were:
    then it is to be read anew. Raises NodeError where what is stored cannot be published."""
    at = due_time(stored)
    if at is None or at > now():
        return False
    _publish(stored["_id"])
    return True


def due_time(stored: Mapping[str, Any]) -> Any:
    """Return when the draft of a stored node is due; None if it is not scheduled, or there is none."""
    return stored.get("draft", {}).get("due")


def _publish(node_id: ObjectId) -> bool:
    """Make a draft that is due the live version, by who scheduled it; return False where another was first."""
    due = {"_id": node_id, "draft.due": {"$lte": now()}}
    stored = database()[NODES].find_one(due, {"metadata": 1, "draft": 1, **scope.FIELDS})
    if stored is None:
        return False
    draft = stored["draft"]
    said = writable(upgrading.draft_metadata(stored))
    live = merging.fields(writable(stored["metadata"]))
    # It was begun on what is live: all that differs is its own.
    merge = merging.merge(live, merging.fields(said), live, said["type"])
    nonce = compare_and_set(
        Actor(draft["saved_by"]["_id"], draft["saved_by"]["name"]),
        stored,
        merge.changes,
        draft_tag_change(node_id, draft),
        more_filter={"draft.nonce": draft["nonce"], "draft.due": draft["due"]},
        more_update={"$unset": {"draft": ""}},
        submitted=last_submission(node_id, draft["nonce"]),
        act=Act.SCHEDULED_CHANGES,
    )
    return nonce is not None


def last_submission(node_id: ObjectId, draft_nonce: ObjectId) -> Submitted | None:
    """Return what the form said that saved the draft, for the version that it becomes: the form goes on from that."""
    saved = database()[REVISIONS].find_one({"_id": draft_nonce, "node_id": node_id})
    if saved is None or "form" not in saved:
        return None
    tags = saved.get("form_tags")
    return Submitted(
        saved["form"], submitted_fields(saved), was_merged=True, tags=None if tags is None else frozenset(tags)
    )


def draft_tag_change(node_id: ObjectId, draft: Mapping[str, Any]) -> TagChange:
    """Return what the draft did to the tags that it was begun with."""
    said = draft["metadata"].get("tags")
    return NO_TAGS if said is None else TagChange.between(base_tags(node_id, draft), said)


def base_tags(node_id: ObjectId, draft: Mapping[str, Any]) -> list[str]:
    """Return the live tags when the draft was begun; of a draft by an earlier release, those of the version below it."""
    if "base_tags" in draft:
        return list(draft["base_tags"])
    base = database()[REVISIONS].find_one({"_id": draft["base_nonce"], "node_id": node_id}, {"metadata.tags": 1})
    return list(base["metadata"]["tags"]) if base else []
