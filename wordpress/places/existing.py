"""Find nodes from previous runs, and check that they came from the same site."""

from datetime import timedelta

from django.utils.translation import gettext as _

from nodes.selectors import imports
from wordpress.export.scan import Export

__all__ = ["SourceError", "find_known"]

# How much the dates of a post can differ between two exports. Dates can be local times, for which the export doesn't
# specify a time zone.
TOLERANCE = timedelta(days=1)


class SourceError(Exception):
    """A previous import was from another site with the same URL. The message explains what to do."""


def find_known(export: Export) -> None:
    """Find out for which entries of `export` a node already exists.

    Different sites that were developed at the same URL (such as http://localhost) use the same numbers for different
    posts. To detect this, the dates of entries are compared with the dates of the existing nodes.

    Raises:
        SourceError: Most of the dates differ.
    """
    known = imports.existing_nodes([entry.id for entry in export.entries.values()])
    # Leave out entries that only a previous run has read, but for which no node exists. Either they could not be
    # imported, or their nodes have since been deleted.
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
            _(
                "%(different)d of the %(dated)d posts and pages that were imported from %(site)s differ "
                "from this file. If the file is from another site with the same URL, specify --source NAME."
            )
            % {"different": different, "dated": dated, "site": export.key}
        )
