"""What an earlier run has made of the things of an export, and whether it was an export of the same site."""

from datetime import timedelta

from nodes.selectors import imports
from wordpress.export.scan import Export

__all__ = ["SourceError", "find_known"]

# A date that an export gives without its zone may be that far off in the next one.
SAME = timedelta(days=1)


class SourceError(Exception):
    """An earlier import was of another site with the same address; the text says what to do."""


def find_known(export: Export) -> None:
    """Find which entries of `export` are there already.

    Raises SourceError if most of them were published on other days than what is there: two sites that were developed
    under one address (http://localhost) have the same numbers for other posts.
    """
    known = imports.existing_nodes([entry.id for entry in export.entries.values()])
    # An earlier run read these, but could not import them, or they were deleted since.
    gone = [number for number, entry in export.entries.items() if not entry.is_here and entry.id not in known]
    for number in gone:
        del export.entries[number]
    dated = other = 0
    for entry in export.entries.values():
        entry.known = known.get(entry.id)
        if entry.is_here and entry.known and entry.known.posted and entry.posted and entry.is_public:
            dated += 1
            other += abs(entry.known.posted - entry.posted) > SAME
    if other * 2 > dated:
        raise SourceError(
            f"{other} of the {dated} posts and pages that were imported from {export.key} before are others than those in "
            f"this file. If it comes from another site with the same address, name that site: --source NAME."
        )
