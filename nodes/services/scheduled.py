"""Scheduled changes to live pages. Once they are due, queries for readers return the page with these changes.

A scheduled draft is always based on the stored live version, because saving the live version cancels the schedule. Only
the slug, the section and the tags can be saved without cancelling it, and these changes never conflict with the draft.
Therefore, publishing the draft never causes a conflict. Due changes count as live: saving the page publishes them
first, and the worker publishes the rest. Readers see due changes even if no worker is running.
"""

import logging
from collections.abc import Mapping
from typing import Any

from bson import ObjectId

from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, database
from marginalia.tasks import worker
from nodes import merging
from nodes.collections import NODES, REVISIONS
from nodes.content import upgrading
from nodes.errors import NodeError
from nodes.services import scope
from nodes.services.write import compare_and_set, submitted_fields, writable
from nodes.types import NO_TAGS, Act, Actor, Change, Submitted, TagChange

logger = logging.getLogger(__name__)


@worker.regularly
def publish_due() -> int:
    """Publish all scheduled changes that are due, and return their number.

    Changes that can't be published are logged, but readers still see them.
    """
    done = 0
    for node in database()[NODES].find({"draft.due": {"$lte": now()}}, {"_id": 1}).sort("draft.due", 1):
        try:
            done += _publish(node["_id"])
        except NodeError as error:
            logger.warning(
                "Readers see the scheduled changes of %s, but the changes can't be published: %s", node["_id"], error
            )
    return done


def publish_if_due(stored: Document) -> bool:
    """Publish the scheduled changes of a node if they are due. Return whether they were due.

    `stored` must have been read with `draft.due`. If the result is True, the caller must read the node again.

    Raises:
        NodeError: The changes can't be published.
    """
    due = due_time(stored)
    if due is None or due > now():
        return False
    _publish(stored["_id"])
    return True


def due_time(stored: Mapping[str, Any]) -> Any:
    """Return the time when the draft of a stored node is due, or None if there is no scheduled draft."""
    return stored.get("draft", {}).get("due")


def _publish(node_id: ObjectId) -> bool:
    """Publish a due draft on behalf of the editor who scheduled it. Return False if another writer was faster."""
    due = {"_id": node_id, "draft.due": {"$lte": now()}}
    stored = database()[NODES].find_one(due, {"metadata": 1, "draft": 1, **scope.FIELDS})
    if stored is None:
        return False
    draft = stored["draft"]
    changed = writable(upgrading.draft_metadata(stored))
    live = merging.fields(writable(stored["metadata"]))
    # The draft is based on the stored live version, so every difference comes from the draft.
    merge = merging.merge(live, merging.fields(changed), live, changed["type"])
    tags = draft_tag_change(node_id, draft)
    nonce = compare_and_set(
        Actor(draft["saved_by"]["_id"], draft["saved_by"]["name"]),
        stored,
        Change(merge.changes, tags, last_submission(node_id, draft["nonce"]), Act.SCHEDULED_CHANGES),
        more_filter={**unchanged(draft), "draft.due": draft["due"]},
        more_update={"$unset": {"draft": ""}},
    )
    return nonce is not None


def unchanged(draft: Mapping[str, Any]) -> dict[str, Any]:
    """Return the filter for a node whose draft hasn't changed since it was read.

    Renaming a tag doesn't change the draft's nonce, so the filter must contain the tags.
    """
    return {
        "draft.nonce": draft["nonce"],
        "draft.metadata.tags": draft["metadata"].get("tags"),
        "draft.base_tags": draft.get("base_tags"),
    }


def last_submission(node_id: ObjectId, draft_nonce: ObjectId) -> Submitted | None:
    """Return the submitted content of the form that saved the draft.

    This content is stored with the published version, so that an open form can be saved again without a conflict.
    """
    saved = database()[REVISIONS].find_one({"_id": draft_nonce, "node_id": node_id})
    if saved is None or "form" not in saved:
        return None
    tags = saved.get("form_tags")
    return Submitted(
        saved["form"], submitted_fields(saved), was_merged=True, tags=None if tags is None else frozenset(tags)
    )


def draft_tag_change(node_id: ObjectId, draft: Mapping[str, Any]) -> TagChange:
    """Return the tags that were added and removed since the draft was started."""
    tags = draft["metadata"].get("tags")
    return NO_TAGS if tags is None else TagChange.between(base_tags(node_id, draft), tags)


def base_tags(node_id: ObjectId, draft: Mapping[str, Any]) -> list[str]:
    """Return the tags that the live version had when the draft was started.

    For drafts from older releases, return the tags in the base revision.
    """
    if "base_tags" in draft:
        return list(draft["base_tags"])
    base = database()[REVISIONS].find_one({"_id": draft["base_nonce"], "node_id": node_id}, {"metadata.tags": 1})
    return list(base["metadata"]["tags"]) if base else []
