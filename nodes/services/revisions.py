"""Deletion of old revisions that are many saves back. Recent revisions stay, because open forms need them as a base."""

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
    """The result of a purge: numbers of checked nodes, kept and deleted revisions."""

    nodes: int
    kept: int
    deleted: int


def purge(
    keep: int, older_than: timedelta, *, dry_run: bool = False, progress: Callable[[int], object] = lambda n: None
) -> Purged:
    """Delete the revisions of each node, except recent ones and the base of its draft.

    The revision of the current version always stays, because it is the base of the next merge. Revisions outside of the
    history are left to check_nodes. The purge can be stopped and run again at any time.

    Args:
        keep: The number of newest revisions to keep per node.
        older_than: Younger revisions are kept.
        dry_run: Whether to count without deleting.
        progress: A function that is called with the number of checked revisions.
    """
    before = now() - older_than
    nodes = kept = deleted = 0
    for chain in chains.all_chains():
        drafted = {link.nonce for link in chain.draft}
        expired = [
            link.nonce for link in chain.live[max(keep, 1) :] if link.saved_at < before and link.nonce not in drafted
        ]
        nodes = nodes + 1
        kept = kept + len(chain.live) - len(expired)
        deleted = deleted + len(expired)
        for batch in batched(expired, BATCH):
            if not dry_run:
                database()[REVISIONS].delete_many({"_id": {"$in": batch}, "node_id": chain.node_id})
        progress(len(chain.live) + len(chain.others))
    return Purged(nodes, kept, deleted)
