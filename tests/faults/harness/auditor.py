"""Compares acknowledged with stored data. Reads the collections with the driver only."""

import hashlib
import io
import re
import threading
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from bson import ObjectId
from gridfs import GridFSBucket
from gridfs.errors import CorruptGridFile
from pymongo import MongoClient
from pymongo.database import Database

from marginalia.comments.types import Target
from tests.faults.harness import BOUND
from tests.faults.harness.content import Content
from tests.faults.harness.discussing import Poster
from tests.faults.harness.ledger import Ledger
from tests.faults.harness.pictures import shows
from tests.support.running import Site

# Longer than any lease, claim, lock or grace period, so crashed processes count as dead.
LATER = timedelta(days=3)
Document = dict[str, Any]


def audit(site: Site, uri: str, content: Content, ledger: Ledger) -> None:
    """Note in the ledger everything that is lost, duplicate, incomplete, or not repaired by the repairing commands."""
    with MongoClient(uri, tz_aware=True) as client:
        db = client.get_database(site.environment["MONGODB_DATABASE"])
        Audit(db, content, ledger).all()
        _age(db)
        _promoted(db, site, content, ledger)
        _mended(site, ledger)
        # Repairs must not lose anything either.
        Audit(db, content, ledger).all(swept=True)


class Audit:
    """One comparison of a database with a ledger, in which it notes errors."""

    def __init__(self, db: Database[Document], content: Content, ledger: Ledger) -> None:
        self.db, self.content, self.ledger = db, content, ledger

    def wrong(self, what: str) -> None:
        if what not in self.ledger.wrong:
            self.ledger.wrong.append(what)

    def all(self, *, swept: bool = False) -> None:
        self.page()
        self.comments()
        self.moderated()
        self.photos(swept=swept)

    def page(self) -> None:
        """Check that every save is in the history once and in order, the shown text, and the tags."""
        page = self.db["cms.nodes"].find_one({"_id": ObjectId(self.content.page)})
        assert page is not None
        texts, nonce = [], page["metadata"]["nonce"]
        while nonce is not None:
            revision = self.db["cms.revisions"].find_one({"_id": nonce})
            if revision is None:
                return self.wrong(f"history breaks off at {nonce}")
            texts.append(revision["metadata"]["detail"]["text"])
            nonce = revision["parent"]
        if texts[0] != page["metadata"]["detail"]["text"]:
            self.wrong("the page is not what its newest revision says")
        for (_page, who), saved in self.ledger.saved.items():
            said = [int(number) for text in reversed(texts) for number in re.findall(rf"^{who} (\d+)$", text, re.M)]
            if len(said) != len(texts):
                self.wrong(f"the paragraph of {who} is missing or doubled in a revision")
            steps = [n for before, n in zip([-1, *said], said, strict=False) if n != before]
            if steps != sorted(set(steps)):
                self.wrong(f"a save of {who} was done twice or undone: {steps}")
            if lost := set(saved) - set(steps):
                self.wrong(f"saves of {who} are lost: {sorted(lost)}")
            if not saved[-1] <= said[-1] <= self.ledger.typed[self.content.page, who]:
                self.wrong(f"{who} saved {saved[-1]}, the page says {said[-1]}")
        tags: dict[str, bool] = dict(self.ledger.tags[self.content.page])
        stored = Counter(page["metadata"]["tags"])
        if off := [tag for tag, there in tags.items() if stored[tag] != there]:
            self.wrong(f"tags are not as acknowledged: {off}")
        return None

    def comments(self) -> None:
        """Check that every acknowledged comment exists once, at its URL, and that no others exist."""
        for target in (self.content.discussed, self.content.moderated, *self.ledger.short):
            discussion = self.db.discussions.find_one({"_id": Target("nodes.node", target).id})
            stored = list(self._stored(discussion)) if discussion else []
            texts = Counter(item["source"] for item in stored)
            for text, (where, places) in self.ledger.posted.items():
                if where != target:
                    continue
                if texts[text] != 1:
                    self.wrong(f"a comment is there {texts[text]} times: {text}")
                elif not any(item["slug"].endswith(place) for item in stored for place in places):
                    self.wrong(f"a comment is not where its author was sent: {text}")
            if doubled := [text for text, count in texts.items() if count > 1 or text not in self.ledger.written]:
                self.wrong(f"comments are doubled or from nowhere: {doubled}")
            numbers = [item["number"] for item in stored]
            if target != self.content.moderated and len(set(numbers)) != len(numbers):
                self.wrong("a number was given twice")
        for target, layout in self.ledger.converted.items():
            discussion = self.db.discussions.find_one({"_id": Target("nodes.node", target).id})
            if discussion and discussion["schema"] != layout and discussion["moving"] is None:
                self.ledger.did("conversions that were done though not acknowledged")

    def _stored(self, discussion: Document) -> Iterator[Document]:
        query = {"discussion_id": discussion["_id"], "epoch": discussion["epoch"]}
        if discussion["schema"] == "documents":
            yield from self.db.comments.find(query)
        elif discussion["schema"] == "embedded":
            of_node = {"_id": ObjectId(Target.from_id(discussion["_id"]).pk), "comments_epoch": discussion["epoch"]}
            for node in self.db["cms.nodes"].find(of_node):
                yield from node["comments"]
        else:
            assert discussion["schema"] == "buckets"
            for bucket in self.db.comment_pages.find(query):
                yield from bucket["comments"]

    def moderated(self) -> None:
        """Check that held and decided comments are in the queue once, approved ones public and rejected ones not."""
        discussion = self.db.discussions.find_one({"_id": Target("nodes.node", self.content.moderated).id})
        queued = list(self.db["comments.pending"].find())
        texts = Counter(item["source"] for item in queued)
        public = Counter(item["source"] for item in self._stored(discussion)) if discussion else Counter()
        for text in self.ledger.held:
            if texts[text] != 1:
                self.wrong(f"a held comment is in the queue {texts[text]} times: {text}")
        states = {str(item["_id"]): item for item in queued}
        for held in self.ledger.approved:
            if states[held]["state"] != "approved" or public[states[held]["source"]] != 1:
                self.wrong(f"an approved comment is {states[held]['state']}: {states[held]['source']}")
        for held in self.ledger.rejected:
            if states[held]["state"] != "rejected" or public[states[held]["source"]]:
                self.wrong(f"a rejected comment is {states[held]['state']}: {states[held]['source']}")

    def photos(self, *, swept: bool) -> None:
        """Check that every shown photo is complete and was sent, and that acknowledged photos exist."""
        bucket = GridFSBucket(self.db, "cms.assets")
        files = {str(item["_id"]): item for item in self.db["cms.assets.files"].find({"metadata.type": "photo"})}
        if lost := set(self.ledger.photos) - set(files):
            self.wrong(f"photos are lost: {sorted(lost)}")
        unknown = list(self.ledger.unanswered)
        for photo, item in files.items():
            shown = item["metadata"]["content_id"]
            if shown is None:
                if swept:
                    self.wrong(f"an upload that was broken off is still there: {photo}")
                continue
            target = io.BytesIO()
            try:
                bucket.download_to_stream(shown, target)
            except CorruptGridFile as error:
                self.wrong(f"a photo is half there: {photo}: {error}")
                continue
            data = target.getvalue()
            if hashlib.sha256(data).hexdigest() != item["metadata"]["detail"]["sha256"]:
                self.wrong(f"a photo is not what its digest says: {photo}")
            sent = self.ledger.photos.get(photo)
            if sent is None:
                sender = next((seed for seed in unknown if shows(data, seed)), None)
                if sender is None:
                    self.wrong(f"a photo is there that was not sent, or twice: {photo}")
                else:
                    unknown.remove(sender)
                continue
            # The photo shows the last acknowledged picture, or one sent later without a response.
            last = max(number for number, picture in enumerate(sent) if picture.acknowledged)
            if not any(shows(data, picture.seed) for picture in sent[last:]):
                self.wrong(f"a photo shows none of what it may show: {photo}")


def _age(db: Database[Document]) -> None:
    """Move everything that a dead process may have left three days into the past."""
    past = datetime.now(UTC) - LATER
    db.discussions.update_many({"claims.0": {"$exists": True}}, {"$set": {"claims.$[].at": past}})
    db.discussions.update_many({"moving": {"$ne": None}}, {"$set": {"moving.beat": past}})
    db.discussions.update_many({"leftovers.0": {"$exists": True}}, {"$set": {"leftovers.$[].due": past}})
    db["cms.assets.files"].update_many({"metadata.locked": {"$ne": None}}, {"$set": {"metadata.locked": past}})
    db["cms.revisions"].update_many(
        {}, [{"$set": {"saved_at": {"$subtract": ["$saved_at", LATER.total_seconds() * 1000]}}}]
    )
    db["cms.redirects"].update_many({}, {"$set": {"kept_at": past}})


def _promoted(db: Database[Document], site: Site, content: Content, ledger: Ledger) -> None:
    """Count the promoted discussions. If a promoting process was killed, the next post promotes the discussion."""
    posts = Counter(target for target, _places in ledger.posted.values())
    for target, meddled in list(ledger.short.items()):
        if meddled or posts[target] < BOUND:
            continue
        if _schema(db, target) == "embedded":
            Poster(site, content, ledger, threading.Event(), 0, target=target).round()
            ledger.did("promotions by those who came after")
        if _schema(db, target) == "buckets":
            ledger.did("promotions")
        else:
            ledger.wrong.append(f"a discussion of {posts[target]} comments has not promoted itself: {target}")


def _schema(db: Database[Document], target: str) -> str:
    discussion = db.discussions.find_one({"_id": Target("nodes.node", target).id})
    return str(discussion["schema"]) if discussion else ""


def _mended(site: Site, ledger: Ledger) -> None:
    """Run the commands that operators run after a crash. A second run must find nothing."""
    for words in (["check_comments", "--fix"], ["check_nodes", "--fix"], ["sweep_uploads"]):
        done = site.manage(*words)
        ledger.did(" ".join(words))
        if done.returncode:
            ledger.wrong.append(f"{words}: {done.stdout[-1000:]} {done.stderr[-1000:]}")
    for words in (["check_comments"], ["check_nodes"], ["doctor"]):
        done = site.manage(*words)
        if done.returncode:
            ledger.wrong.append(f"{words} after mending: {done.stdout[-2000:]} {done.stderr[-1000:]}")
