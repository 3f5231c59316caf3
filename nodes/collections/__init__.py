"""The collections for nodes and photos, with the indexes for all frequent queries."""

import builtins
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

from bson import ObjectId
from django.core.exceptions import FieldError

from marginalia.mongo.collections import Collection, Index, ShardKey, least_id
from nodes import content
from nodes.collections import schemas
from nodes.content import FILE, lookups, uniqueness

NODES = "cms.nodes"
REVISIONS = "cms.revisions"
REDIRECTS = "cms.redirects"
# The redirects that editors have added.
MANUAL_REDIRECTS = "cms.manual_redirects"
TAGS = "cms.tags"
TRASH = "cms.trash"
SITE = "cms.site"
WORKING_COPIES = "cms.working_copies"
SAVED_FILTERS = "cms.saved_filters"
WORDS = "cms.words"

# GridFS buckets. ASSETS contains photos and their files, and RENDITIONS contains resized copies, which are created on
# demand.
ASSETS, RENDITIONS = "cms.assets", "cms.renditions"
ASSET_FILES = f"{ASSETS}.files"
ASSET_CHUNKS = f"{ASSETS}.chunks"
RENDITION_FILES = f"{RENDITIONS}.files"
RENDITION_CHUNKS = f"{RENDITIONS}.chunks"

# Number of days for which unsaved input is stored.
WORKING_COPY_DAYS = 30

PLACE = (("metadata.parent_id", 1), ("metadata.slug", 1))
CHANGED = (("metadata.updated", -1), ("_id", -1))
# Nodes published at the same time are sorted by creation time. The creation time is needed because the ids of photos
# aren't in order of creation.
NEWEST = (("metadata.published", -1), ("metadata.created", -1), ("_id", -1))
OWN_DATE = (("derived.date", 1), ("_id", 1), ("metadata.expires", 1), ("metadata.published", 1))
# Matches nodes with a value in their type's date field, by which sections can list them.
DATED = {"derived.date": {"$exists": True}}
# Matches nodes that are pinned to the top of their section.
PINNED = {"metadata.detail.is_pinned": True}
# The hint for the index on `_id`. Without this hint, the server also tries the index on section and slug if the filter
# contains these fields.
BY_ID = "_id_"
POSITION = (("position", 1), ("metadata.slug", 1))
# Matches nodes that refer to at least one other node, photo or insert.
REFERRING = {"derived.refs": {"$exists": True}}


def node_indexes() -> tuple[Index, ...]:
    """Return the indexes that nodes and photos share, because the same code queries both."""
    return (
        Index("by_place", PLACE, unique=True),
        # This index is used to find the newest nodes in a section, for lists, feeds, archives, and links to the
        # previous and next node. It contains fields after _id, so the server can skip hidden nodes without reading
        # their documents.
        Index(
            "by_section",
            (("metadata.parent_id", 1), *NEWEST, ("metadata.expires", 1), ("metadata.type", 1)),
        ),
        Index("by_type", (("metadata.type", 1), *NEWEST, ("metadata.expires", 1), ("metadata.parent_id", 1))),
        Index("by_tag", (("metadata.tags", 1), *NEWEST, ("metadata.expires", 1), ("metadata.parent_id", 1))),
        # This index is used to find public nodes by their author's name.
        Index(
            "by_byline",
            (
                ("metadata.author.name", 1),
                *NEWEST,
                ("metadata.expires", 1),
                ("metadata.parent_id", 1),
                ("metadata.type", 1),
            ),
        ),
        # This index is used to list expired nodes in the admin, and to find the time of the next expiry, at which the
        # public site changes.
        Index("by_expiry", (("metadata.expires", -1), ("_id", -1))),
        # This index is used to find nodes by the beginning of a word in their title. Nodes with the same word are
        # sorted by their last change, latest first.
        Index("by_title_word", (("derived.title_words", 1), *CHANGED)),
        # This index is used for searches (nodes.search.index).
        Index("by_term", (("derived.terms", 1),)),
        # This index is used to list the pages in a folder by name.
        Index(
            "by_name",
            (
                ("metadata.parent_id", 1),
                ("metadata.type", 1),
                ("metadata.slug", 1),
                ("metadata.expires", 1),
                ("metadata.published", 1),
            ),
        ),
    )


def unique_indexes() -> tuple[Index, ...]:
    """Return the unique indexes for `unique_together_in_section`, one for each combination of fields of a type."""
    types = content.registry.names()
    return tuple(unique_index(type, fields) for type in types for fields in uniqueness.combinations(type))


def unique_index(type: str, fields: uniqueness.Combination) -> Index:
    """Return the index that ensures that no two nodes of a type in a section have the same values in `fields`."""
    return Index(
        "_".join(("unique", type, *(field.name for field in fields))),
        (("metadata.parent_id", 1), *((f"metadata.detail.{field.column}", 1) for field in fields)),
        unique=True,
        partial=uniqueness.partial_filter(type, fields),
        unsharded_only=True,
    )


def type_indexes() -> Iterator[Index]:
    """Yield the indexes that content types declare in `indexes`.

    An index contains only the nodes of the types that share its declaration. System checks report invalid declarations.
    """
    declaring: dict[builtins.type[content.Content], list[str]] = {}
    for type in content.types():
        for model in type.__mro__:
            if isinstance(vars(model).get("indexes"), list | tuple) and not type.is_file:
                declaring.setdefault(model, []).append(type.type_name)
    for model, types in declaring.items():
        for names in model.indexes:
            with suppress(FieldError):
                keys = lookups.index_keys(model, names)
                words = "_".join(name.removeprefix("-") for name in ([names] if isinstance(names, str) else names))
                among = types[0] if len(types) == 1 else {"$in": types}
                yield Index(f"{model.type_name}_by_{words}", keys, partial={"metadata.type": among})


@cache
def keys_of(index: str, collection: str = NODES) -> dict[str, int | str]:
    """Return the keys of the declared index `index`, for use in hints.

    Hints use keys because an upgrade creates an index with a different name if the declared name is in use.
    """
    indexes = next(declared for declared in collections() if declared.name == collection).indexes
    return dict(next(declared for declared in indexes if declared.name == index).keys)


def home_of(type: str) -> str:
    """Return the name of the collection for nodes of `type`: ASSET_FILES for photos and files, NODES for all other types."""
    return ASSET_FILES if content.get(type).is_file else NODES


def node_filter(collection: str) -> dict[str, Any]:
    """Return the filter for the documents of `collection` that are nodes, photos or files.

    The filter excludes previous bytes of photos and files, bytes that are being uploaded, and photos and files whose
    first upload is in progress. Queries that read documents by id combine this filter with the ids.
    """
    return {"metadata.content_id": {"$type": "objectId"}} if collection == ASSET_FILES else {}


def listed_filter(collection: str) -> dict[str, Any]:
    """Return the filter for the documents of `collection` that readers can find in lists, feeds and searches.

    Files, and photos in the library, that is, without a gallery, are shown only where texts use them.
    """
    unlisted = [{"metadata.parent_id": None}, {"metadata.type": FILE}]
    return {**node_filter(collection), "$nor": unlisted} if collection == ASSET_FILES else {}


def gallery_filters(gallery_id: ObjectId | None) -> tuple[dict[str, Any], ...]:
    """Return the filters to try, in this order, when querying a photo by its id.

    The first filter contains the gallery that the photo was in when its id was stored, so a sharded cluster queries
    only the shards with this gallery. The second filter is empty, and finds photos that have since been moved to a
    different gallery.
    """
    return ({"metadata.parent_id": gallery_id}, {}) if gallery_id else ({},)


# The indexes of a GridFS bucket. Any GridFS driver would create the same indexes, with the same names.
FILES_INDEXES = (Index("filename_1_uploadDate_1", (("filename", 1), ("uploadDate", 1))),)
CHUNKS_INDEXES = (Index("files_id_1_n_1", (("files_id", 1), ("n", 1)), unique=True),)
CHUNKS_KEY = ShardKey(
    (("files_id", 1), ("n", 1)),
    unique=True,
    reason="A file is read in order from one shard, and a very large file can be split.",
    least=least_id,
)


def collections() -> tuple[Collection, ...]:
    """Return the collections of nodes and photos, with validators for the content types of the installed apps."""
    return (
        Collection(
            NODES,
            (
                *node_indexes(),
                # This index is used to list the nodes in a section that is sorted manually. Nodes without a position
                # come first, sorted by slug.
                Index(
                    "by_position",
                    (
                        ("metadata.parent_id", 1),
                        *POSITION,
                        ("metadata.expires", 1),
                        ("metadata.published", 1),
                        ("metadata.type", 1),
                    ),
                ),
                # The following indexes are for the admin lists, which are sorted by last change. A list of nodes in a
                # particular state can have a different order.
                Index("by_updated", CHANGED),
                Index("section_by_updated", (("metadata.parent_id", 1), *CHANGED)),
                Index("type_by_updated", (("metadata.type", 1), *CHANGED)),
                Index("tag_by_updated", (("metadata.tags", 1), *CHANGED)),
                Index("author_by_updated", (("metadata.author._id", 1), *CHANGED)),
                Index("by_published", (*NEWEST, ("metadata.expires", 1))),
                Index("by_author", (("metadata.author._id", 1), *NEWEST, ("metadata.expires", 1))),
                Index("by_draft", (("draft.saved_at", -1), ("_id", -1)), sparse=True),
                # This index is used to list scheduled changes by publication time.
                Index("by_due", (("draft.due", -1), ("_id", -1)), sparse=True),
                # These indexes are used to filter lists by the facets of any type, such as "recipe.course=dessert".
                Index(
                    "by_facet",
                    (("derived.facets", 1), ("metadata.parent_id", 1), *NEWEST, ("metadata.expires", 1)),
                    partial={"derived.facets": {"$exists": True}},
                ),
                Index(
                    "facet_by_updated",
                    (("derived.facets", 1), *CHANGED),
                    partial={"derived.facets": {"$exists": True}},
                ),
                # These indexes are for sections that list their pages by a date field, with or without a facet filter.
                Index("by_date", (("metadata.parent_id", 1), *OWN_DATE), partial=DATED),
                Index("facet_by_date", (("derived.facets", 1), ("metadata.parent_id", 1), *OWN_DATE), partial=DATED),
                # Content types declare these indexes for their own queries.
                *type_indexes(),
                # This index is used to find the pinned posts in a section. A section has only a few pinned posts.
                Index("by_pin", (("metadata.parent_id", 1), *NEWEST, ("metadata.expires", 1)), partial=PINNED),
                # These indexes are used to find references to a node, photo or insert in live versions and in drafts.
                # The server reads both indexes in parallel and merges the results in order.
                Index("by_ref", (("derived.refs", 1), *CHANGED), partial=REFERRING),
                Index("by_draft_ref", (("draft.refs", 1), *CHANGED), partial={"draft.refs": {"$exists": True}}),
                # The search for broken links uses this index to read the nodes with references, newest first. When a
                # search resumes, the server reads only the index to skip the nodes that were already checked.
                Index("referring", (*NEWEST, ("metadata.expires", 1), ("metadata.parent_id", 1)), partial=REFERRING),
                *unique_indexes(),
            ),
            shard_key=ShardKey(
                PLACE, unique=True, reason="Only a unique shard key keeps (section, slug) unique across shards."
            ),
            validator=schemas.node(),
        ),
        Collection(
            REVISIONS,
            (Index("by_node", (("node_id", 1), ("saved_at", -1))), Index("by_age", (("saved_at", 1),))),
            shard_key=ShardKey((("node_id", 1), ("_id", 1)), reason="A node's history is read together."),
            validator=schemas.revision(),
        ),
        Collection(
            REDIRECTS,
            (Index("by_node", (("node_id", 1),)),),
            validator=schemas.REDIRECT,
            unsharded_because="Small, and read only if no page is found.",
        ),
        Collection(
            MANUAL_REDIRECTS,
            validator=schemas.MANUAL_REDIRECT,
            unsharded_because="Small, and read only if no page is found.",
        ),
        Collection(
            TAGS,
            (
                # These indexes are used to find the former names of a tag, and to resume renames.
                Index("by_new_name", (("renamed_to", 1),), sparse=True),
                Index("being_renamed", (("is_renaming", 1),), sparse=True),
            ),
            validator=schemas.TAG,
            unsharded_because="Small: the tags with a description or a new name.",
        ),
        Collection(
            TRASH,
            (
                Index("by_newest", (("trashed_at", -1), ("_id", -1))),
                Index("by_section", (("metadata.parent_id", 1),)),
                Index("by_tag", (("metadata.tags", 1),)),
            ),
            validator=schemas.trashed(),
            unsharded_because="Small: pages and photos in the trash.",
        ),
        Collection(SITE, validator=schemas.SITE, unsharded_because="One document."),
        Collection(
            WORKING_COPIES,
            (
                Index("by_form", (("_id.user", 1), ("type", 1), ("node_id", 1), ("updated", -1))),
                Index("by_editor", (("_id.user", 1), ("updated", -1))),
                Index("by_node", (("node_id", 1), ("updated", -1))),
                Index("kept_for_a_month", (("updated", 1),), expire_after_seconds=WORKING_COPY_DAYS * 24 * 60 * 60),
            ),
            validator=schemas.WORKING_COPY,
            unsharded_because="Small and short-lived: unsaved changes of editors.",
        ),
        Collection(
            SAVED_FILTERS,
            validator=schemas.SAVED_FILTERS,
            unsharded_because="Small: one document per editor who has saved filters.",
        ),
        Collection(
            WORDS,
            (Index("by_near", (("near", 1),)),),
            validator=schemas.WORD,
            unsharded_because="Small: each word on the site once, for finding words with similar spelling.",
        ),
        Collection(
            ASSET_FILES,
            (
                *node_indexes(),
                *FILES_INDEXES,
                # The library lists either photos or files, sorted by last change. There are usually few files.
                Index("by_updated", CHANGED),
                Index("files_by_updated", CHANGED, partial={"metadata.type": FILE}),
                Index("by_author", (("metadata.author._id", 1), ("metadata.updated", -1))),
                # Camera properties are stored as [{n, v}], so one index covers them all. Queries use $elemMatch.
                Index("by_exif", (("metadata.detail.exif.n", 1), ("metadata.detail.exif.v", 1), *NEWEST)),
                Index("by_sha256", (("metadata.detail.sha256", 1),)),
                # Only photos with an active or stalled upload are locked, so the index has few entries.
                Index("by_lock", (("metadata.locked", 1),), partial={"metadata.locked": {"$type": "date"}}),
            ),
            shard_key=ShardKey(
                PLACE, unique=True, reason="Only a unique shard key keeps (gallery, slug) unique across shards."
            ),
            validator=schemas.ASSET_FILE,
        ),
        Collection(ASSET_CHUNKS, CHUNKS_INDEXES, shard_key=CHUNKS_KEY, validator=schemas.CHUNK),
        Collection(
            RENDITION_FILES,
            (
                *FILES_INDEXES,
                Index("by_spec", (("metadata.source", 1), ("metadata.spec", 1)), unique=True),
                Index("by_lock", (("metadata.locked", 1),), partial={"metadata.locked": {"$type": "date"}}),
            ),
            shard_key=ShardKey(
                (("metadata.source", 1), ("metadata.spec", 1)),
                unique=True,
                reason="Each copy is made once, and read by both fields.",
                least=least_id,
            ),
            validator=schemas.RENDITION_FILE,
        ),
        Collection(RENDITION_CHUNKS, CHUNKS_INDEXES, shard_key=CHUNKS_KEY, validator=schemas.CHUNK),
    )
