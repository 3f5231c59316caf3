"""Thinning out history: what is old and many saves back. The base of any open form stays while it is young."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from marginalia.mongo.clock import now
from marginalia.mongo.connection import batched, database
from nodes.collections import REVISIONS
from nodes.selectors import chains

# Revisions that one command deletes.
BATCH = 1_000


@dataclass(frozen=True)
class Purged:
    """What a purge came to."""

    nodes: int
    kept: int
    deleted: int


def purge(
    keep: int, older_than: timedelta, *, dry_run: bool = False, progress: Callable[[int], object] = lambda n: None
) -> Purged:
    """Delete each node's revisions but its newest `keep`, those not `older_than`, and what its draft was begun on.

    The revision of what a node is now always stays: it is the base of the next merge. Others than those of its history are
    left to check_nodes. `progress` is told how many revisions were looked at. May be stopped and run again at any time.
    """
    before = now() - older_than
    nodes = kept = deleted = 0
    for found in chains.all_chains():
        drafted = {link.nonce for link in found.draft}
        doomed = [
            link.nonce for link in found.live[max(keep, 1) :] if link.saved_at < before and link.nonce not in drafted
        ]
        nodes = nodes + 1
        kept = kept + len(found.live) - len(doomed)
        deleted = deleted + len(doomed)
        for batch in batched(doomed, BATCH):
            if not dry_run:
                database()[REVISIONS].delete_many({"_id": {"$in": batch}, "node_id": found.node_id})
        progress(len(found.live) + len(found.others))
    return Purged(nodes, kept, deleted)
