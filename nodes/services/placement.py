"""Move sections, and convert pages to sections.

A move is a transaction on the section and a move counter, so that two concurrent moves can't create a cycle.
"""

from bson import ObjectId
from django.utils.translation import gettext as _
from pymongo.client_session import ClientSession

from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, database, transaction
from nodes import merging
from nodes.collections import NODES, SITE
from nodes.content import Folder, upgrading
from nodes.content.messages import section_gone
from nodes.errors import EditConflict, InvalidPlace, NodeGone
from nodes.merging import Merge
from nodes.models import stored_site, tree
from nodes.models.stored_site import SITE_ID
from nodes.services import rules
from nodes.services.site import invalidate
from nodes.services.write import STORED, changed_paths, compare_and_set
from nodes.signals import send_saved
from nodes.types import Actor, Change


def move_section(actor: Actor, stored: Document, change: Change) -> ObjectId | None:
    """Apply `change`, which contains a new `parent_id`, to the section `stored`.

    The move counter is read before the ancestors are checked, and incremented together with the move. If two moves read
    the same tree, one of them fails, and its caller must check the move again.

    Returns:
        The new nonce, or None if the section or the tree has changed since it was read.

    Raises:
        InvalidPlace: The new parent can't contain the section.
        SlugTaken: Another node in the new parent has the slug.
        InvalidSlug: The slug can't be part of a URL, or is reserved.
    """
    if not stored_site.read().versions:
        invalidate()
    seen_tree = stored_site.read().tree
    check_ancestors(stored["_id"], change.fields["parent_id"])

    def work(session: ClientSession) -> ObjectId | None:
        if not count_move(seen_tree, session):
            return None
        nonce = compare_and_set(actor, stored, change, session=session)
        if nonce is None:
            session.abort_transaction()
        return nonce

    nonce = transaction(work)
    if nonce:
        invalidate()
        before = stored["metadata"]
        moment = {"nonce": nonce, "updated": now()}
        after = {**before, **merging.nested({**merging.fields(before), **change.fields}), **moment}
        send_saved(stored["_id"], before, after, changed_paths(change))
    return nonce


def make_folder(actor: Actor, node_id: ObjectId, seen_nonce: ObjectId) -> ObjectId:
    """Convert a page to a folder if its nonce is still `seen_nonce`. Return its new nonce.

    The folder keeps the page's text, section and slug.

    Raises:
        NodeGone: The node no longer exists.
        EditConflict: The page has changed since the user saw it.
        InvalidPlace: The section can't contain a folder.
    """
    stored = database()[NODES].find_one({"_id": node_id}, STORED)
    if stored is None:
        raise NodeGone(node_id)
    rules.check_place(stored["metadata"]["parent_id"], Folder.type_name)
    changes = {"type": Folder.type_name, **upgrading.version_fields(Folder.type_name)}
    nonce = compare_and_set(actor, stored, Change(changes)) if stored["metadata"]["nonce"] == seen_nonce else None
    if nonce is None:
        raise EditConflict(None, stored["metadata"], Merge({}, (), ()))
    return nonce


def count_move(seen_tree: int, session: ClientSession) -> bool:
    """Increment the move counter if it still equals `seen_tree`. Return whether it was incremented."""
    done = database()[SITE].update_one({"_id": SITE_ID, "tree": seen_tree}, {"$inc": {"tree": 1}}, session=session)
    return bool(done.matched_count)


def check_ancestors(section_id: ObjectId, parent_id: ObjectId | None) -> None:
    """Raise InvalidPlace if the section would be inside itself, or if its new parent doesn't exist.

    The sections are read from the database, not from the cached tree.
    """
    chain = tree.load().ancestors(parent_id)
    if chain is None:
        raise InvalidPlace(section_gone())
    if any(section.id == section_id for section in chain):
        raise InvalidPlace(
            _("A section can't be moved into itself or into one of its subsections. Choose another section.")
        )
