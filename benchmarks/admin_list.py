"""Commands and response times of the admin's lists with 100,000 nodes, and 10,000 photos in the photo library.

For each filter of the list of pages, the benchmark also measures the raw query and the selector.

make bench ARGS=admin_list           100,000 nodes; takes about two minutes, and updates docs/internals/benchmarks.md
QUICK=1 make bench ARGS=admin_list   1,000 nodes; takes about half a minute, and only prints the results
"""

import os
import statistics
from collections.abc import Callable, Iterator
from typing import Any

from pymongo import monitoring

from benchmarks import report, site
from benchmarks.timing import measure_seconds

NODES = 1_000 if site.QUICK else 100_000
PHOTOS = NODES // 10
# Lists don't read texts, so most nodes are copies.
DISTINCT = 1_000
ROUNDS = 5 if site.QUICK else 15
QUIET = {"hello", "ismaster", "isMaster", "ping", "endSessions", "buildInfo"}


class Commands(monitoring.CommandListener):
    """A listener that counts the commands that were sent to MongoDB."""

    count = 0

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        self.count += event.command_name not in QUIET

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        """Do nothing, because only sent commands are counted."""

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        """Do nothing, because only sent commands are counted."""


COMMANDS = Commands()


def main() -> None:
    """Load the demo's bulk content, measure the lists, and publish the results."""
    os.environ["LOG_LEVEL"] = "WARNING"
    # This affects only clients that are created after this line.
    monitoring.register(COMMANDS)
    with site.temporary_site():
        site.set_up(NODES, distinct=DISTINCT)
        _copy_photos()
        _measure()


def _copy_photos() -> None:
    """Copy the documents of the demo's photos until there are about PHOTOS photos. Copies have no bytes."""
    from bson import ObjectId

    from marginalia.mongo.connection import batched, database
    from nodes.content import PHOTO

    files = database()["cms.assets.files"]
    originals = list(files.find({"metadata.type": PHOTO}))

    def copies() -> Iterator[dict[str, Any]]:
        for number in range(PHOTOS):
            original = originals[number % len(originals)]
            photo_id = ObjectId()
            own = {"slug": f"copy-{number}", "content_id": photo_id, "nonce": ObjectId()}
            yield {**original, "_id": photo_id, "metadata": {**original["metadata"], **own}}

    for batch in batched(copies(), 1_000):
        files.insert_many(batch)


def _measure() -> None:
    from django.contrib.auth import get_user_model
    from django.test import Client

    from marginalia.mongo.clock import now
    from marginalia.mongo.connection import database
    from nodes.selectors import lists
    from nodes.selectors.listing import FIELDS

    fields = FIELDS["cms.nodes"] | {"draft.saved_at": 1, "draft.due": 1}
    nodes = database()["cms.nodes"]
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(get_user_model().objects.get_or_create(username="bench", is_staff=True, is_superuser=True)[0])

    def page(path: str, query: dict[str, Any]) -> list[object]:
        """Return the number of commands and the time of a page that was shown before."""
        median = _median(lambda: _get(client, path, query))
        COMMANDS.count = 0
        _get(client, path, query)
        return [COMMANDS.count, f"{median:.1f}"]

    filtered: list[list[object]] = []
    for name, query, filters in _filters(nodes):
        criteria = filters.query(now())
        order = [(filters.order, -1), ("_id", -1)]
        raw = _median(lambda: list(nodes.find(criteria, fields).sort(order).limit(lists.SIZE + 1)))  # noqa: B023
        selector = _median(lambda: lists.page(filters, now()))  # noqa: B023
        ratio = f"{selector / raw:.1f}"
        filtered.append([name, f"{raw:.2f}", f"{selector:.2f}", ratio, *page("/admin/nodes/node/", query)])
    others = [[name, *page(path, query)] for name, path, query in _other_lists(nodes)]
    about_filters = (
        f"These are the times of the admin's list of pages with {NODES:,} nodes, in milliseconds (medians of {ROUNDS} "
        "rounds). *Query* is the MongoDB query, sent directly with the driver. "
        "*Selector* also creates the rows, and should take at most three times as long as the query. "
        "*Page* is the complete page with counts, filters and rendering, and *Commands* is how many commands it sends."
    )
    about_others = (
        f"These are the times of the admin's other lists with {NODES:,} nodes and {PHOTOS:,} photos, in milliseconds "
        f"(medians of {ROUNDS} rounds), and the number of commands per page."
    )
    report.publish(
        "admin_list",
        [
            report.Table(
                "Admin lists", about_filters, ["Filter", "Query", "Selector", "Ratio", "Commands", "Page"], filtered
            ),
            report.Table("Other admin lists", about_others, ["List", "Commands", "Page"], others),
        ],
    )


def _get(client: Any, path: str, query: dict[str, Any]) -> None:
    response = client.get(path, query)
    if response.status_code != 200:
        raise RuntimeError(f"{path} {query} returned status {response.status_code}.")


def _filters(nodes: Any) -> Iterator[tuple[str, dict[str, Any], Any]]:
    from nodes.selectors.lists import Filters

    metadata = _tagged_entry(nodes)
    section = metadata["parent_id"]
    tag = metadata["tags"][0]
    yield "none", {}, Filters()
    yield "section", {"section": section}, Filters(section=section)
    yield "type", {"type": "blog-entry"}, Filters(type="blog-entry")
    yield "tag", {"tag": tag}, Filters(tag=tag)
    for state in ("live", "scheduled", "unpublished", "expired", "drafted"):
        yield state, {"state": state}, Filters(state=state)
    yield "section, live", {"section": section, "state": "live"}, Filters(section=section, state="live")


def _other_lists(nodes: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:
    metadata = _tagged_entry(nodes)
    section = metadata["parent_id"]
    volume = nodes.find_one({"_id": section})["metadata"]["parent_id"]
    yield "pages, search", "/admin/nodes/node/", {"q": metadata["title"].split()[0]}
    yield "page tree", "/admin/nodes/node/tree/", {}
    yield "page tree, two sections open", "/admin/nodes/node/tree/", {"open": [volume, section]}
    yield "page tree, one section", "/admin/nodes/node/tree/", {"section": section}
    yield "photos", "/admin/nodes/photo/", {}
    yield "photos, as a list", "/admin/nodes/photo/", {"layout": "list"}
    yield "photos, search", "/admin/nodes/photo/", {"q": "a"}
    yield "files", "/admin/nodes/file/", {}
    yield "trash", "/admin/nodes/node/trash/", {}
    yield "comments", "/admin/marginalia_comments/moderation/", {}


def _tagged_entry(nodes: Any) -> dict[str, Any]:
    """Return the metadata of a post with tags in a large blog."""
    from benchmarks.volume import TAGS

    entry: dict[str, Any] = nodes.find_one({"metadata.type": "blog-entry", "metadata.tags": TAGS[0]})
    return dict(entry["metadata"])


def _median(work: Callable[[], object]) -> float:
    work()
    return statistics.median(measure_seconds(work) for _ in range(ROUNDS)) * 1_000
