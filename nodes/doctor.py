"""Doctor checks for pages: frequent queries, histories, scheduled changes, content types and their versions."""

from collections.abc import Iterator

from marginalia.mongo.clock import now
from marginalia.mongo.collections import Index
from marginalia.mongo.connection import Document, is_mongos
from marginalia.mongo.doctor import ADVICE, ERROR, WARNING, Examination, Finding, check
from marginalia.mongo.indexes.matching import is_same
from marginalia.tasks import queue
from marginalia.tasks.doctor import OVERDUE
from nodes.collections import (
    ASSET_FILES,
    NODES,
    REVISIONS,
    SITE,
    TRASH,
    node_filter,
    unique_index,
)
from nodes.content import registry, uniqueness
from nodes.content.upgrading import FIRST, VERSION
from nodes.models import damage
from nodes.models.stored_site import SITE_ID
from nodes.search import index
from nodes.selectors.queries import BROADCASTS, HOT_QUERIES

__all__ = ["BROADCASTS", "HOT_QUERIES"]

# Maximum number of documents listed in one finding.
NAMED = 3


@check
def site_document(examination: Examination) -> Iterator[Finding]:
    """Check whether the site has pages, but lacks the document with its settings and versions."""
    for nodes in examination.declared(NODES):
        db = examination.db
        if db[nodes].find_one({}, {"_id": 1}) and not db[SITE].find_one({"_id": SITE_ID}, {"_id": 1}):
            message = "The site has pages, but its settings and versions are missing. The site uses default settings."
            yield Finding(
                ERROR, "site-gone", SITE, message, f"Restore {SITE} from a backup, or save the settings again."
            )


@check
def damaged_nodes(examination: Examination) -> Iterator[Finding]:
    """Check for pages and photos that can't be read or whose data is incomplete. Large collections are sampled."""
    for name in examination.declared(NODES, ASSET_FILES, TRASH):
        pipeline: list[Document] = [
            *examination.sample_stages(name),
            {"$match": node_filter(name)},
            {"$project": damage.FIELDS},
        ]
        faults = []
        parents = {}
        for document in examination.db[name].aggregate(pipeline):
            faults += [f"{document['_id']} {fault}" for fault in damage.faults(document)]
            if name == TRASH:
                # The section of a trashed page can be deleted before the page is, so a missing section is no defect.
                continue
            if isinstance(metadata := document.get("metadata"), dict) and metadata.get("parent_id") is not None:
                parents[document["_id"]] = metadata["parent_id"]
        if faults:
            fix = (
                "Run manage.py check_nodes to list all problems. Run manage.py upgrade_nodes to "
                "derive missing parts. Restore the other pages from a backup."
            )
            yield Finding(
                ERROR, "node-damaged", name, f"Pages have {len(faults)} problems: {'; '.join(faults[:NAMED])}.", fix
            )
        # NODES is queried again after TRASH, to find sections that are restored between the first two queries.
        homes = (NODES, TRASH, NODES)
        existing = {id for home in homes for id in examination.present(home, set(parents.values()))}
        if lost := [str(node_id) for node_id, parent_id in parents.items() if parent_id not in existing]:
            message = f"{len(lost)} pages or photos are in a section that no longer exists: {', '.join(lost[:NAMED])}."
            fix = "Restore the section from a backup. Or run manage.py check_nodes --fix to move them to the trash."
            yield Finding(ERROR, "section-gone", name, message, fix)


@check
def unsearchable_nodes(examination: Examination) -> Iterator[Finding]:
    """Check for pages and photos that searches don't find, because an older release stored them."""
    for name in examination.declared(NODES, ASSET_FILES):
        # The index on the terms contains null for documents without terms.
        missing = {index.PATH: None, **node_filter(name)}
        if examination.db[name].find_one(missing, {"_id": 1}):
            message = "Searches don't find some pages or photos, because their search terms are missing."
            yield Finding(WARNING, "not-searchable", name, message, "Run manage.py upgrade_nodes.")


@check
def histories(examination: Examination) -> Iterator[Finding]:
    """Check for pages that lack the revision of their current version. Large collections are sampled."""
    for nodes in examination.declared(NODES):
        pipeline: list[Document] = [*examination.sample_stages(nodes), {"$project": {"metadata.nonce": 1}}]
        documents = examination.db[nodes].aggregate(pipeline)
        nonces = {document["_id"]: (document.get("metadata") or {}).get("nonce") for document in documents}
        query = {"node_id": {"$in": list(nonces)}, "_id": {"$in": list(nonces.values())}}
        existing = {revision["_id"] for revision in examination.db[REVISIONS].find(query, {"_id": 1})}
        if missing := [node_id for node_id, nonce in nonces.items() if nonce not in existing]:
            some = ", ".join(map(str, missing[:NAMED]))
            message = f"The current revision of {len(missing)} of {len(nonces)} pages is missing: {some}."
            fix = f"Restore {REVISIONS} from a backup. Until then, edits of these pages are merged only field by field."
            yield Finding(WARNING, "history-gone", REVISIONS, message, fix)


@check
def due_drafts(examination: Examination) -> Iterator[Finding]:
    """Check for scheduled changes that are due, but that a running worker hasn't published."""
    if not queue.is_tended(alias=examination.alias):
        return  # The worker's own check reports this.
    for nodes in examination.declared(NODES):
        due = examination.db[nodes].find({"draft.due": {"$lte": now() - OVERDUE}}, {"_id": 1}).limit(NAMED)
        if ids := ", ".join(str(node["_id"]) for node in due):
            message = f"Scheduled changes are due, but can't be published: {ids}."
            fix = "Read the reason in the worker's log, for example a unique value that another page has. Edit a page."
            yield Finding(WARNING, "draft-stuck", nodes, message, fix)


@check
def missing_types(examination: Examination) -> Iterator[Finding]:
    """Check for nodes whose type no installed app declares. Only editors can see these nodes."""
    for name in examination.declared(NODES):
        known = registry.names()
        # distinct() reads only one index entry per type.
        if unknown := sorted(str(type) for type in examination.db[name].distinct("metadata.type") if type not in known):
            message = f"No installed app declares the type of some nodes: {', '.join(unknown[:NAMED])}."
            yield Finding(
                WARNING, "type-not-installed", name, message, "Install the app again, or move the nodes to the trash."
            )


@check
def unique_values(examination: Examination) -> Iterator[Finding]:
    """Check combinations of fields that must be unique, but for which there is no unique index.

    On a sharded cluster, there is never such an index, because a unique index there must begin with the shard key.
    """
    for nodes in examination.declared(NODES):
        existing = list(examination.db[nodes].index_information().values())
        for type in registry.names():
            for fields in uniqueness.combinations(type):
                index = unique_index(type, fields)
                if any(is_same(index, details) for details in existing):
                    continue
                names = ", ".join(field.name for field in fields)
                if is_mongos(examination.alias):
                    message = f"No unique index enforces that {names} of each {type} are unique in their section."
                    fix = "Two saves at the same moment can create duplicates. Doctor reports such duplicates."
                    yield Finding(ADVICE, "unique-not-enforced", nodes, message, fix)
                if duplicates := _duplicates(examination, nodes, index):
                    message = f"Pages of the type {type} in one section have the same {names}: {duplicates}."
                    fix = "Change the values of all but one page. Then run manage.py setup_indexes."
                    yield Finding(ERROR, "values-not-unique", nodes, message, fix)


def _duplicates(examination: Examination, nodes: str, index: Index) -> str:
    """Return the ids of the first nodes that violate a unique index."""
    pipeline: list[Document] = [
        {"$match": index.partial or {}},
        {
            "$group": {
                "_id": [f"${path}" for path, _way in index.keys],
                "ids": {"$firstN": {"input": "$_id", "n": NAMED}},
                "n": {"$sum": 1},
            }
        },
        {"$match": {"n": {"$gt": 1}}},
        {"$limit": NAMED},
    ]
    groups = examination.db[nodes].aggregate(pipeline, allowDiskUse=True)
    return "; ".join(", ".join(map(str, group["ids"])) for group in groups)


@check
def versions(examination: Examination) -> Iterator[Finding]:
    """Check for nodes and drafts with an older or newer version of their type. Large collections are sampled."""
    for name in examination.declared(NODES, ASSET_FILES):
        live = {"$ifNull": [f"$metadata.{VERSION}", FIRST]}
        draft = {"$cond": [{"$gt": ["$draft", None]}, {"$ifNull": [f"$draft.metadata.{VERSION}", FIRST]}, live]}
        pipeline: list[Document] = [
            *examination.sample_stages(name),
            {"$project": {"type": "$metadata.type", "version": [live, draft]}},
            {"$unwind": "$version"},
            {"$group": {"_id": {"type": "$type", "version": "$version"}}},
        ]
        groups = [group["_id"] for group in examination.db[name].aggregate(pipeline)]
        stored = [(group.get("type"), group["version"]) for group in groups]
        present = {type: registry.get(type).schema_version for type in registry.names()}
        if older := sorted({type for type, version in stored if type in present and version < present[type]}):
            message = f"Some documents have old versions of their types, which slows reads: {', '.join(older[:NAMED])}."
            yield Finding(ADVICE, "type-outdated", name, message, f"Run manage.py upgrade_nodes {' '.join(older)}.")
        if newer := sorted({type for type, version in stored if type in present and version > present[type]}):
            message = f"A newer release has saved nodes of these types, so they can't be changed: {', '.join(newer)}."
            yield Finding(WARNING, "type-newer", name, message, "Run the newer release in all processes.")
