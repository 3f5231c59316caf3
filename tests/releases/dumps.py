"""Dumps of a small site, one for each release: VERSION.jsonl, with one stored document per line.

The first line contains the release's version and the texts that readers see on each page.
"""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from bson import json_util
from pymongo.database import Database

from marginalia.mongo.rate_limit import COLLECTION as RATE_LIMITS
from marginalia.tasks.queue import WORKERS

FOLDER = Path(__file__).parent
# Data about running processes.
LEFT_OUT = {RATE_LIMITS, WORKERS}
OPTIONS = json_util.CANONICAL_JSON_OPTIONS

# The texts on each page, by path.
Pages = dict[str, list[str]]


def paths() -> list[Path]:
    """Return the dumps of all releases."""
    return sorted(FOLDER.glob("*.jsonl"))


def write(db: Database[Any], version: str, pages: Pages) -> Path:
    """Write the documents of a database, and return the path of the dump."""
    lines = [json.dumps({"version": version, "pages": pages}, ensure_ascii=False)]
    for name in sorted(db.list_collection_names(filter={"type": "collection"})):
        if name not in LEFT_OUT and not name.startswith("system."):
            for document in db[name].find().sort("_id", 1):
                line = {"collection": name, "document": document}
                lines.append(json_util.dumps(line, json_options=OPTIONS, ensure_ascii=False, separators=(",", ":")))
    path = FOLDER / f"{version}.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def restore(db: Database[Any], path: Path) -> Pages:
    """Replace the contents of the collections in a dump, and return the texts on its pages.

    The current validators don't check the documents, like documents that were stored before an upgrade.
    """
    first, *lines = path.read_text(encoding="utf-8").splitlines()
    documents: defaultdict[str, list[Any]] = defaultdict(list)
    for line in lines:
        stored = json_util.loads(line, json_options=OPTIONS)
        documents[stored["collection"]].append(stored["document"])
    for name, stored in documents.items():
        db[name].delete_many({})
        db[name].insert_many(stored, bypass_document_validation=True)
    pages: Pages = json.loads(first)["pages"]
    return pages
