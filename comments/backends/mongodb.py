"""The MongoDB backend, composed of mixin classes."""

from typing import Any, Unpack

from marginalia.comments.backends.bans import Bans
from marginalia.comments.backends.beside import Flags, Imported, IpHashes, Lessons, Subscriptions
from marginalia.comments.backends.likes import Likes
from marginalia.comments.backends.reading.across import Across
from marginalia.comments.backends.reading.pages import Reading
from marginalia.comments.backends.store import Store
from marginalia.comments.backends.stored import read_place
from marginalia.comments.backends.upkeep.conversions import Conversions
from marginalia.comments.backends.upkeep.repairing import Repairing
from marginalia.comments.backends.writing.batches import Batches
from marginalia.comments.backends.writing.importing import Importing
from marginalia.comments.types import RestrictionChanges, Target


class MongoBackend(Batches, Importing, Reading, Across, Conversions, Repairing):
    """The backend for one MongoDB database. It supports all layouts."""

    def __init__(self, db: Any = None) -> None:
        self.store = Store(db)
        self.flags = Flags(self.store.db)
        self.likes = Likes(self.store.db)
        self.subscriptions = Subscriptions(self.store.db)
        self.ip_hashes = IpHashes(self.store.db)
        self.lessons = Lessons(self.store.db)
        self.imported = Imported(self.store.db)
        self.bans = Bans(self.store.db)

    def close(self, target: Target) -> None:
        self.store.discussions.set_state(target, "closed")

    def open(self, target: Target) -> None:
        self.store.discussions.set_state(target, "open")

    def restrict(self, target: Target, **changes: Unpack[RestrictionChanges]) -> None:
        self.store.discussions.restrict(target, changes)

    def lock_thread(self, target: Target, slug: str, *, locked: bool) -> None:
        if locked:
            self.get(target, slug)
        self.store.discussions.lock_thread(target, slug, locked=locked)

    def delete_discussion(self, target: Target) -> int:
        discussion = self.store.discussions.find(target)
        if discussion is None:
            return 0
        deleted = sum(1 for _ in self.iterate(target))
        for layout in self.store.layouts.all:
            layout.clear(read_place(discussion), {"$gte": 0})
        side_collections = (self.flags.stored, self.subscriptions.stored, self.ip_hashes.stored, self.imported.stored)
        for collection in (self.store.pending, self.store.history, self.store.catalogue.stored, *side_collections):
            collection.delete_many({"discussion_id": target.id})
        self.likes.delete(target)
        self.store.discussions.collection.delete_one({"_id": target.id})
        return deleted
