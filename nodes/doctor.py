"""What the doctor asks of pages: hot queries, histories, types and their versions."""

from collections.abc import Iterator

from marginalia.mongo.connection import Document
from marginalia.mongo.doctor import ADVICE, ERROR, WARNING, Examination, Finding, check
from nodes.collections import (
    ASSET_FILES,
    NODES,
    REVISIONS,
    SITE,
    TRASH,
    node_filter,
)
from nodes.content import registry
from nodes.content.upgrading import FIRST, VERSION
from nodes.models import Node, damage
from nodes.models.stored_site import SITE_ID
from nodes.selectors.listing import MODELS
from nodes.selectors.queries import BROADCASTS, HOT_QUERIES

__all__ = ["BROADCASTS", "HOT_QUERIES"]

NAMED = 3


@check
def site_document(examination: Examination) -> Iterator[Finding]:
    """The one document with the site's settings and versions is there as soon as there is a page."""
    for nodes in examination.declared(NODES):
        db = examination.db
        if db[nodes].find_one({}, {"_id": 1}) and not db[SITE].find_one({"_id": SITE_ID}, {"_id": 1}):
            message = "There are pages, and the site's settings and versions are gone: it shows its defaults."
            yield Finding(
                ERROR, "site-gone", SITE, message, f"Restore {SITE} from a backup, or save the settings anew."
            )


@check
def damaged_nodes(examination: Examination) -> Iterator[Finding]:
    """Pages and photos can be read, and have all that they were stored with; a random sample is looked at of many."""
    for name in examination.declared(NODES, ASSET_FILES, TRASH):
        looked: list[Document] = [
            *examination.sample_stages(name),
            {"$match": node_filter(name)},
            {"$project": damage.FIELDS},
        ]
        bad = []
        parents = {}
        for document in examination.db[name].aggregate(looked):
            bad += [f"{document['_id']} {fault}" for fault in damage.faults(MODELS.get(name, Node), document)]
            if name == TRASH:
                # Sections go to the trash after what is in them, and may be deleted before.
                continue
            if isinstance(metadata := document.get("metadata"), dict) and metadata.get("parent_id") is not None:
                parents[document["_id"]] = metadata["parent_id"]
        if bad:
            fix = "manage.py check_nodes lists all. Restore them from a backup; manage.py upgrade_nodes derives missing parts."
            yield Finding(ERROR, "node-damaged", name, f"{len(bad)} faults of pages: {'; '.join(bad[:NAMED])}.", fix)
        there = {id for one in (NODES, TRASH, NODES) for id in examination.present(one, set(parents.values()))}
        if lost := [str(node_id) for node_id, parent_id in parents.items() if parent_id not in there]:
            message = f"The section of {len(lost)} pages or photos is gone: {', '.join(lost[:NAMED])}."
            fix = (
                "Restore the section from a backup, or run manage.py check_nodes --fix, which moves them to the trash."
            )
            yield Finding(ERROR, "section-gone", name, message, fix)


@check
def histories(examination: Examination) -> Iterator[Finding]:
    """Pages have the revision of what they are; a random sample is looked at of many."""
    for nodes in examination.declared(NODES):
        looked: list[Document] = [*examination.sample_stages(nodes), {"$project": {"metadata.nonce": 1}}]
        found = examination.db[nodes].aggregate(looked)
        nonces = {one["_id"]: (one.get("metadata") or {}).get("nonce") for one in found}
        query = {"node_id": {"$in": list(nonces)}, "_id": {"$in": list(nonces.values())}}
        there = {found["_id"] for found in examination.db[REVISIONS].find(query, {"_id": 1})}
        if missing := [node_id for node_id, nonce in nonces.items() if nonce not in there]:
            some = ", ".join(map(str, missing[:NAMED]))
            message = f"{len(missing)} of {len(nonces)} pages lack the revision of what they are: {some}."
            fix = f"Restore {REVISIONS} from a backup; without it edits of these pages merge by whole fields."
            yield Finding(WARNING, "history-gone", REVISIONS, message, fix)


@check
def missing_types(examination: Examination) -> Iterator[Finding]:
    """Nodes are of types that an installed app declares; others are kept, and readers do not see them."""
    for name in examination.declared(NODES):
        known = registry.names()
        # Of the index alone, one entry a type.
        if unknown := sorted(str(type) for type in examination.db[name].distinct("metadata.type") if type not in known):
            message = f"No installed app declares the type of some nodes: {', '.join(unknown[:NAMED])}."
            yield Finding(
                WARNING, "type-not-installed", name, message, "Install the app again, or move them to the trash."
            )


@check
def versions(examination: Examination) -> Iterator[Finding]:
    """Nodes and drafts are stored in the present version of their types; a random sample is looked at of many."""
    for name in examination.declared(NODES, ASSET_FILES):
        said = {"$ifNull": [f"$metadata.{VERSION}", FIRST]}
        drafted = {"$cond": [{"$gt": ["$draft", None]}, {"$ifNull": [f"$draft.metadata.{VERSION}", FIRST]}, said]}
        looked: list[Document] = [
            *examination.sample_stages(name),
            {"$project": {"type": "$metadata.type", "version": [said, drafted]}},
            {"$unwind": "$version"},
            {"$group": {"_id": {"type": "$type", "version": "$version"}}},
        ]
        found = [(one["_id"].get("type"), one["_id"]["version"]) for one in examination.db[name].aggregate(looked)]
        present = {type: registry.get(type).schema_version for type in registry.names()}
        if older := sorted({type for type, version in found if type in present and version < present[type]}):
            message = (
                f"Older versions of these types are stored, and brought up at each read: {', '.join(older[:NAMED])}."
            )
            yield Finding(ADVICE, "type-outdated", name, message, f"manage.py upgrade_nodes {' '.join(older)}")
        if newer := sorted({type for type, version in found if type in present and version > present[type]}):
            message = (
                f"A newer release has stored nodes of these types, which this one does not write: {', '.join(newer)}."
            )
            yield Finding(WARNING, "type-newer", name, message, "Run the newer release in every process.")
