"""Detect nodes from previous runs, and check that they came from the same site."""

from datetime import timedelta

from nodes.selectors import imports
from wordpress.export.scan import Export

__all__ = ["SourceError", "find_known"]

# Maximum difference between two exports' local times, which have no time zone.
TOLERANCE = timedelta(days=1)


class SourceError(Exception):
    """A previous import was from another site with the same URL. The message explains what to do."""


def find_known(export: Export) -> None:
    """Find the entries of `export` that already exist.

    Two sites that were developed at the same URL (such as http://localhost) use the same numbers for different posts.
    Therefore, the dates of entries are compared with the dates of existing nodes.

    Raises:
        SourceError: Most of the dates differ.
    """
    known = imports.existing_nodes([entry.id for entry in export.entries.values()])
    # A previous run has read these entries, but could not import them, or their nodes have since been deleted.
    missing = [number for number, entry in export.entries.items() if not entry.in_this_file and entry.id not in known]
    for number in missing:
        del export.entries[number]
    dated = different = 0
    for entry in export.entries.values():
        entry.known = known.get(entry.id)
        if entry.in_this_file and entry.known and entry.known.posted and entry.posted and entry.is_public:
            dated += 1
            different += abs(entry.known.posted - entry.posted) > TOLERANCE
    if different * 2 > dated:
        raise SourceError(
            f"{different} of the {dated} posts and pages that were imported from {export.key} differ "
            "from this file. If the file is from another site with the same URL, specify --source "
            "NAME."
        )
