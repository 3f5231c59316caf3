"""Keep a folder of JSON files in step with a site, through its public API.

    python mirror.py https://example.org folder
    python mirror.py https://example.org folder --once

nodes/ID.json is a page, post, section or photo, site.json what the settings say, state.json how far the mirror has come. It may
be killed at any moment and started again: a file is replaced as a whole, and the state is written after what it stands for.
Nothing but Python is needed. docs/how-to/use-the-api.md explains it.
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

# There is no such thing, or the list of changes does not reach back that far.
NOT_THERE = (404, 410)
# The site is too busy, is being restarted, or its database is away.
AGAIN = (429, 500, 502, 503, 504)
WAIT_SECONDS = 5
ID = re.compile("[0-9a-f]{24}")


def asking(address: str, token: str = "") -> Callable[..., Any]:
    """Return a function that sends GET requests to the API of the site at `address`.

    ask("nodes", type="blog-entry") returns the parsed JSON, or None if the site returns 404. While the site can't be
    reached, the function tries again.
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
    """A folder that follows a site. `sees_more`: whether it asks with a token, and so for what readers do not see, too."""

    def __init__(self, folder: Path, ask: Callable[..., Any], *, sees_more: bool = False) -> None:
        self.folder, self.ask, self.sees_more = folder, ask, sees_more
        (folder / "nodes").mkdir(parents=True, exist_ok=True)

    def follow(self) -> bool:
        """Take over what changed since the last time; return whether more has."""
        state = self.folder / "state.json"
        since = json.loads(state.read_text())["next"] if state.exists() else None
        answer = self.ask("changes", since=since) if since is not None else None
        changes = answer["changes"] if answer else []
        kinds = {change["kind"] for change in changes}
        if answer is None or "reset" in kinds:
            # The number first: what changes while all is read comes after it.
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
        """Yield all that a list has, of each type that the site has."""
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
        """Write the file of a node, or remove it if there is none."""
        if not ID.fullmatch(node_id):
            raise ValueError(f"{node_id!r} is no id")
        file = self.folder / "nodes" / f"{node_id}.json"
        if node is None:
            file.unlink(missing_ok=True)
        else:
            write(file, node)


def write(file: Path, content: Any) -> None:
    """Replace a file as a whole: who reads it, and who is killed here, has the old one or the new one."""
    coming = file.with_suffix(".coming")
    with coming.open("w") as writing:
        json.dump(content, writing, indent=1, sort_keys=True, ensure_ascii=False)
        writing.flush()
        os.fsync(writing.fileno())
    coming.replace(file)


def main() -> None:
    """Follow a site until interrupted, or once."""
    parser = argparse.ArgumentParser(description="Keep a folder of JSON files in step with a site.")
    parser.add_argument("site", help="its address, such as https://example.org")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--once", action="store_true", help="end when nothing more has changed")
    parser.add_argument("--every", type=float, default=10, metavar="SECONDS", help="between two questions")
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
