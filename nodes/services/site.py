"""Write to the site document."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from bson import ObjectId

from marginalia.mongo.connection import database
from nodes.collections import SITE
from nodes.models import stored_site
from nodes.models.stored_site import SITE_ID, VERSION_KEYS, Scope, slots
from nodes.services.retrying import retry_compare_and_set


class SettingsConflict(Exception):
    """Another administrator has changed the settings in `names` to different values."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        super().__init__(", ".join(names))


def invalidate(scope: Scope = Scope.SITE, tags: Iterable[str] = ()) -> None:
    """Update the site's versions in `scope`, and the versions of `tags`, the added or removed tags.

    Call this function after every change that readers can see, as soon as the change can be read. If a writer finds
    that its change is already stored, it must update all versions, because the earlier writer may have crashed before
    this call.
    """
    version = ObjectId()
    tag_versions = {f"tags.{slot}": version for slot in slots(tags)}
    renewed = {**dict.fromkeys(VERSION_KEYS[scope:], version), **tag_versions}
    initial: dict[str, Any] = {**dict.fromkeys(VERSION_KEYS[:scope], version), "tree": 0, "nonce": ObjectId()}
    if not tag_versions:
        # MongoDB refuses to set `tags` together with a field in it.
        initial["tags"] = {}
    database()[SITE].update_one({"_id": SITE_ID}, {"$set": renewed, "$setOnInsert": initial}, upsert=True)
    stored_site.forget()


def save_settings(changes: Mapping[str, Any], seen: Mapping[str, Any]) -> None:
    """Store changed settings. Settings that others have changed since the form was rendered keep their new values.

    Args:
        changes: The new values, keyed by name.
        seen: The values with which the form was rendered, keyed by name.

    Raises:
        SettingsConflict: Both sides changed a setting to different values. Nothing is stored.
        TooBusy: Other writers kept changing the settings.
    """

    def attempt() -> bool | None:
        stored = stored_site.read()
        if stored.nonce is None:
            invalidate()
            return None
        present = asdict(stored.settings)
        clashing = tuple(n for n, value in changes.items() if present[n] not in (seen[n], value))
        if clashing:
            raise SettingsConflict(clashing)
        done = database()[SITE].update_one(
            {"_id": SITE_ID, "nonce": stored.nonce},
            {"$set": {"nonce": ObjectId(), **{f"settings.{name}": value for name, value in changes.items()}}},
        )
        return bool(done.matched_count) or None

    retry_compare_and_set(attempt)
    invalidate()
