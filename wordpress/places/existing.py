"""The nodes that previous runs have created, and a check that they came from the same site."""

from datetime import timedelta

from nodes.selectors import imports
from wordpress.export.scan import Export

__all__ = ["SourceError", "find_known"]

# Local times without a zone may differ by this much between two exports.
TOLERANCE = timedelta(days=1)


class SourceError(Exception):
    """A previous import was of another site with the same URL. The text says what to do."""


def find_known(export: Export) -> None:
    """Find the entries of `export` that exist already.

    Raises SourceError if most of them have other dates than the existing nodes. Two sites that were developed at the
    same URL (http://localhost) use the same numbers for different posts.
    """
    known = imports.existing_nodes([entry.id for entry in export.entries.values()])
    # A previous run has read these but could not import them, or they have been deleted.
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
            f"{different} of the {dated} posts and pages that were imported from {export.key} before are others than those in "
            f"this file. If it comes from another site with the same address, name that site: --source NAME."
        )
