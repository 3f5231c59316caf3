"""Delete revisions that are both old and followed by many saves. Recent revisions are needed to merge open forms."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from marginalia.mongo.clock import now
from marginalia.mongo.connection import batched, database
from nodes.collections import REVISIONS
from nodes.selectors import chains

# Number of revisions deleted per MongoDB command.
BATCH = 1_000


@dataclass(frozen=True)
class Purged:
    """The result of a purge: how many nodes were checked, and how many revisions were kept and deleted."""

    nodes: int
    kept: int
    deleted: int


def purge(
    keep: int, older_than: timedelta, *, dry_run: bool = False, progress: Callable[[int], object] = lambda n: None
) -> Purged:
    """Delete old revisions of each node. Keep recent revisions, and the revisions that led to the node's draft.

    Saves of earlier drafts are deleted if they are old, because only the history needs them.

    The current version's revision is always kept, because it is the base of the next merge. Revisions outside the
    history aren't deleted, because check_nodes handles them. The purge can be interrupted and repeated at any time.

    Args:
        keep: The number of newest revisions to keep per node.
        older_than: The minimum age of the revisions to delete.
        dry_run: Whether to count without deleting.
        progress: A function that is called with the number of checked revisions.
    """
    before = now() - older_than
    nodes = kept = deleted = 0
    for chain in chains.all_chains():
        drafted = {link.nonce for link in chain.draft}
        candidates = (*chain.live[max(keep, 1) :], *chain.earlier_drafts)
        expired = [link.nonce for link in candidates if link.saved_at < before and link.nonce not in drafted]
        nodes = nodes + 1
        kept = kept + len(chain.live) + len(chain.earlier_drafts) - len(expired)
        deleted = deleted + len(expired)
        for batch in batched(expired, BATCH):
            if not dry_run:
                database()[REVISIONS].delete_many({"_id": {"$in": batch}, "node_id": chain.node_id})
        progress(len(chain.live) + len(chain.earlier_drafts) + len(chain.others))
    return Purged(nodes, kept, deleted)
