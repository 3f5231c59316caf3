"""Mirror a site into a folder of JSON files, using the site's public API.

    python mirror.py https://example.org folder
    python mirror.py https://example.org folder --once

Each file nodes/ID.json contains a page, post, section or photo. site.json contains the settings, and state.json the
mirror's progress. You can stop the script at any time and start it again. Files are always replaced as a whole, and
state.json is written last. The script needs only Python. docs/how-to/use-the-api.md explains how the script works.
"""

import argparse
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

# Status codes for objects that don't exist, and for changes that are no longer in the list.
NOT_THERE = (404, 410)
# Status codes for a site that is overloaded or restarting, or whose database is unavailable.
AGAIN = (429, 500, 502, 503, 504)
WAIT_SECONDS = 5
ID = re.compile("[0-9a-f]{24}")


def asking(address: str, token: str = "") -> Callable[..., Any]:
    """Return a function that sends GET requests to the API of the site at `address`.

    For example, ask("nodes", type="blog-entry") returns the parsed JSON, or None if the site returns 404 or 410. If the
    site can't be reached, the function tries again until it can.
    """

    def ask(path: str, **query: Any) -> Any:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = Request(f"{address.rstrip('/')}/api/v1/{path}?{urlencode(query)}", headers=headers)
        while True:
            wait = WAIT_SECONDS
            try:
                with urlopen(request, timeout=60) as answer:
                    return json.load(answer)
            except HTTPError as error:
                if error.code in NOT_THERE:
                    return None
                if error.code not in AGAIN:
                    raise
                wait = int(error.headers.get("Retry-After", wait))
            except (OSError, HTTPException):
                pass
            time.sleep(wait)

    return ask


class Mirror:
    """A folder that mirrors a site.

    Attributes:
        folder: The folder.
        ask: A function that sends GET requests, as returned by `asking`.
        sees_more: Whether requests contain a token. If so, the mirror also contains content that readers can't see.
    """

    def __init__(self, folder: Path, ask: Callable[..., Any], *, sees_more: bool = False) -> None:
        self.folder, self.ask, self.sees_more = folder, ask, sees_more
        (folder / "nodes").mkdir(parents=True, exist_ok=True)

    def follow(self) -> bool:
        """Mirror the changes since the last call. Return whether there are more changes."""
        state = self.folder / "state.json"
        since = json.loads(state.read_text())["next"] if state.exists() else None
        answer = self.ask("changes", since=since) if since is not None else None
        changes = answer["changes"] if answer else []
        kinds = {change["kind"] for change in changes}
        if answer is None or "reset" in kinds:
            # Get the number before reading all nodes. Changes that are made while the nodes are read have higher
            # numbers.
            answer = self.ask("changes")
            kinds = {"subtree", "settings"}
        if "subtree" in kinds:
            self.read_all()
        for node_id in {change["id"] for change in changes if change["kind"] in ("node", "photo")}:
            self.keep(node_id, self.ask(f"nodes/{node_id}"))
        if "settings" in kinds:
            write(self.folder / "site.json", self.ask("site"))
        write(state, {"next": answer["next"]})
        return bool(answer["more"])

    def read_all(self) -> None:
        """Read all nodes, 100 per request, and delete the files of nodes that no longer exist.

        With a token, also read each node separately, because lists don't contain drafts.
        """
        there = set()
        for node in self.listed(include="detail"):
            self.keep(node["id"], node)
            there.add(node["id"])
        for node in self.listed(state="any", fields="id") if self.sees_more else ():
            self.keep(node["id"], self.ask(f"nodes/{node['id']}"))
            there.add(node["id"])
        for gone in {file.stem for file in (self.folder / "nodes").glob("*.json")} - there:
            self.keep(gone, None)

    def listed(self, **query: str) -> Iterator[dict[str, Any]]:
        """Yield all nodes in the lists with the parameters `query`. There is one list per content type."""
        schemas = self.ask("openapi.json")["components"]["schemas"]
        for type_name in schemas["Node"]["discriminator"]["mapping"]:
            wanted = {"type": type_name, "limit": 100, **query}
            while True:
                page = self.ask("nodes", **wanted)
                yield from page["items"]
                if page["next"] is None:
                    break
                wanted["cursor"] = page["next"]

    def keep(self, node_id: str, node: dict[str, Any] | None) -> None:
        """Write a node's file. If `node` is None, delete the file."""
        if not ID.fullmatch(node_id):
            raise ValueError(f"{node_id!r} is not a valid id")
        file = self.folder / "nodes" / f"{node_id}.json"
        if node is None:
            file.unlink(missing_ok=True)
        else:
            write(file, node)


def write(file: Path, content: Any) -> None:
    """Replace a file atomically. Even if the script is killed, the file contains either the old or the new content."""
    coming = file.with_suffix(".coming")
    with coming.open("w") as writing:
        json.dump(content, writing, indent=1, sort_keys=True, ensure_ascii=False)
        writing.flush()
        os.fsync(writing.fileno())
    coming.replace(file)


def main() -> None:
    """Mirror a site until the script is interrupted, or until there are no more changes."""
    parser = argparse.ArgumentParser(description="Keep a folder of JSON files in sync with a site.")
    parser.add_argument("site", help="URL of the site, such as https://example.org")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--once", action="store_true", help="stop when there are no more changes")
    parser.add_argument("--every", type=float, default=10, metavar="SECONDS", help="seconds between two requests")
    given = parser.parse_args()
    token = os.environ.get("MIRROR_TOKEN", "")
    mirror = Mirror(given.folder, asking(given.site, token), sees_more=bool(token))
    while True:
        if mirror.follow():
            continue
        if given.once:
            return
        time.sleep(given.every)


if __name__ == "__main__":
    main()
