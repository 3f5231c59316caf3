"""Writing the site's one document."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from bson import ObjectId

from marginalia.mongo.connection import database
from nodes.collections import SITE
from nodes.errors import TooBusy
from nodes.models import stored_site
from nodes.models.stored_site import SITE_ID, VERSION_KEYS, Scope, slots

# How often settings are tried while others keep saving theirs.
ATTEMPTS = 20


class SettingsConflict(Exception):
    """Another administrator changed the same settings, to other values; `names` says which."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        super().__init__(", ".join(names))


def invalidate(scope: Scope = Scope.SITE, tags: Iterable[str] = ()) -> None:
    """Give a new version to all that a change reaches, by itself to everything, and to the tags that came or went with it.

    Called after every change that readers can see, once it can be read, and also, for everything, by a write that finds its
    change made already: the write before it may have stopped between the change and this.
    """
    version = ObjectId()
    of_tags = {f"tags.{slot}": version for slot in slots(tags)}
    reached = {**dict.fromkeys(VERSION_KEYS[scope:], version), **of_tags}
    begun = {**dict.fromkeys(VERSION_KEYS[:scope], version), "tree": 0, "nonce": ObjectId()} | (
        {} if of_tags else {"tags": {}}
    )
    database()[SITE].update_one({"_id": SITE_ID}, {"$set": reached, "$setOnInsert": begun}, upsert=True)
    stored_site.forget()


def save_settings(changes: Mapping[str, Any], seen: Mapping[str, Any]) -> None:
    """Store the changed settings; `seen` says what each was when its form was rendered.

    What others changed since stays; what both changed, to different values, raises SettingsConflict and nothing is stored.
    Raises TooBusy while others keep changing them.
    """
    for _attempt in range(ATTEMPTS):
        stored = stored_site.read()
        if stored.nonce is None:
            invalidate()
            continue
        present = asdict(stored.settings)
        clashing = tuple(n for n, value in changes.items() if present[n] not in (seen[n], value))
        if clashing:
            raise SettingsConflict(clashing)
        done = database()[SITE].update_one(
            {"_id": SITE_ID, "nonce": stored.nonce},
            {"$set": {"nonce": ObjectId(), **{f"settings.{name}": value for name, value in changes.items()}}},
        )
        if done.matched_count:
            invalidate()
            return
    raise TooBusy
