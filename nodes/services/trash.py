"""The trash: taking a node out, putting it back, deleting it for good.

Transactions, so that a comment that is stored in the node's document and arrives meanwhile is not lost.
"""

from bson import ObjectId
from django.utils.translation import gettext as _
from pymongo.client_session import ClientSession
from pymongo.errors import DuplicateKeyError

from mongo.connection import Document, database, now, transaction
from nodes import slugs
from nodes.assets import contents
from nodes.collections import ASSET_FILES, NODES, REDIRECTS, REVISIONS, TRASH, home_of, standing
from nodes.errors import EditConflict, InvalidPlace, NodeGone, SlugTaken, TooBusy
from nodes.kinds import CONTENT, KINDS, PHOTO
from nodes.merging import Merge
from nodes.selectors import site as site_selectors
from nodes.services import placement
from nodes.services.site import touch
from nodes.services.write import check_place
from nodes.signals import node_deleted
from nodes.types import Actor, Seen


def trash(actor: Actor, node_id: ObjectId, seen_nonce: ObjectId, collection: str = NODES) -> None:
    """Move a node to the trash if it still has the nonce `seen_nonce`. What stands in a trashed section shows nowhere.

    Raises NodeGone, EditConflict.
    """

    def work(session: ClientSession) -> Document | None:
        wanted = {"_id": node_id, **standing(collection)}
        stored: Document | None = database()[collection].find_one(wanted, session=session)
        if stored is None or stored["metadata"]["nonce"] != seen_nonce:
            return stored
        database()[collection].delete_one(Seen.of(stored).as_filter(), session=session)
        database()[TRASH].insert_one(
            {**stored, "trashed_at": now(), "trashed_by": actor.as_document()}, session=session
        )
        return stored

    stored = transaction(work)
    if stored is None:
        raise NodeGone(node_id)
    if stored["metadata"]["nonce"] != seen_nonce:
        raise EditConflict(None, stored["metadata"], Merge({}, (), ()))
    touch()


def restore(actor: Actor, node_id: ObjectId, *, slug: str | None = None) -> None:
    """Put a trashed node back in its place, under `slug` if its own was taken meanwhile.

    Raises NodeGone, InvalidPlace (its section is not there), SlugTaken.
    """
    trashed = database()[TRASH].find_one({"_id": node_id}, {"metadata": 1})
    if trashed is None:
        raise NodeGone(node_id)
    metadata = trashed["metadata"]
    place = metadata["parent_id"], slugs.normalized(slug) if slug else metadata["slug"]
    seen_tree = site_selectors.read().tree
    check_place(place[0], metadata["type"])
    slugs.check(place[1], place[0])
    home = home_of(metadata["type"])
    is_section = KINDS[metadata["type"]].is_section
    if is_section:
        placement.check_ancestors(node_id, place[0])

    def work(session: ClientSession) -> bool | None:
        stored = database()[TRASH].find_one_and_delete({"_id": node_id}, session=session)
        if stored is None:
            return None
        if is_section and not placement.count_move(seen_tree, session):
            session.abort_transaction()
            return False
        stored["metadata"]["slug"] = place[1]
        del stored["trashed_at"], stored["trashed_by"]
        database()[home].insert_one(stored, session=session)
        return True

    try:
        done = transaction(work)
    except DuplicateKeyError as error:
        raise SlugTaken(place[1], slugs.free(place[1], place[0], home)) from error
    if done is None:
        raise NodeGone(node_id)
    if not done:
        raise TooBusy
    touch()


def delete(node_id: ObjectId) -> None:
    """Delete a trashed node for good, with its history, its old addresses and (by signal) its comments.

    Raises NodeGone, InvalidPlace (something still stands in it).
    """
    if _holds_something(node_id):
        raise InvalidPlace(_("This section is not empty. Move or delete what stands in it first."))

    def work(session: ClientSession) -> Document | None:
        found: Document | None = database()[TRASH].find_one_and_delete({"_id": node_id}, session=session)
        return found

    deleted = transaction(work)
    if deleted is None:
        raise NodeGone(node_id)
    if deleted["metadata"]["type"] == PHOTO:
        contents.delete_all(node_id)
    database()[REDIRECTS].delete_many({"node_id": node_id})
    database()[REVISIONS].delete_many({"node_id": node_id})
    node_deleted.send(sender=None, node_id=node_id)


def _holds_something(node_id: ObjectId) -> bool:
    # A photo's contents go with it.
    inside = {"metadata.parent_id": node_id, "metadata.type": {"$ne": CONTENT}}
    return any(database()[name].find_one(inside, {"_id": 1}) for name in (NODES, ASSET_FILES, TRASH))
