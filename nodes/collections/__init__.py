"""The collections of what editors write; every hot query's index stands here."""

from functools import cache
from typing import Any

from bson import ObjectId

from marginalia.mongo.collections import Collection, Index, ShardKey, least_id
from nodes import content
from nodes.collections import schemas

NODES = "cms.nodes"
REVISIONS = "cms.revisions"
REDIRECTS = "cms.redirects"
TRASH = "cms.trash"
SITE = "cms.site"
WORKING_COPIES = "cms.working_copies"

# GridFS buckets: photos and their contents; resized copies, made on demand.
ASSETS, RENDITIONS = "cms.assets", "cms.renditions"
ASSET_FILES = f"{ASSETS}.files"
ASSET_CHUNKS = f"{ASSETS}.chunks"
RENDITION_FILES = f"{RENDITIONS}.files"
RENDITION_CHUNKS = f"{RENDITIONS}.chunks"

# What was typed and not saved is kept for so long.
WORKING_COPY_DAYS = 30

PLACE = (("metadata.parent_id", 1), ("metadata.slug", 1))
CHANGED = (("metadata.updated", -1), ("_id", -1))
# Of what was published in one moment, that which was made last: ids of photos say nothing of it.
NEWEST = (("metadata.published", -1), ("metadata.created", -1), ("_id", -1))
OWN_DATE = (("derived.date", 1), ("_id", 1), ("metadata.expires", 1), ("metadata.published", 1))
# What its section lists by a date of its own.
DATED = {"derived.date": {"$exists": True}}
# What stands first in its section.
PINNED = {"metadata.detail.is_pinned": True}
# The index of an id: a filter that names a place besides would have the server weigh those of places too.
BY_ID = "_id_"
POSITION = (("position", 1), ("metadata.slug", 1))
# What uses something at all.
REFERRING = {"derived.refs": {"$exists": True}}

# Words are stemmed as English, which does little harm elsewhere; `pairs` serves scripts without spaces. No document
# has a field by the name of language_override: "language", the default, would be taken from what editors write.
# `derived.title` and `derived.tags` are the words of fields that types want weighed so.
_WEIGHTS = {
    "metadata.title": 10,
    "derived.title": 10,
    "metadata.tags": 6,
    "derived.tags": 6,
    "metadata.summary": 4,
    "derived.pairs": 2,
    "derived.text": 1,
}
SEARCH = Index(
    "by_words",
    tuple((path, "text") for path in _WEIGHTS),
    options={
        "weights": _WEIGHTS,
        "default_language": "english",
        "language_override": "text_language",
    },
)


def node_indexes() -> tuple[Index, ...]:
    """Return the indexes that nodes and photos share: the same code queries either."""
    return (
        Index("by_place", PLACE, unique=True),
        # Newest of a section: lists, feeds, archives, previous and next. What follows _id lets the index alone decide
        # what is shown, so that no document is read in vain.
        Index(
            "by_section",
            (("metadata.parent_id", 1), *NEWEST, ("metadata.expires", 1), ("metadata.type", 1)),
        ),
        Index("by_type", (("metadata.type", 1), *NEWEST, ("metadata.expires", 1), ("metadata.parent_id", 1))),
        Index("by_tag", (("metadata.tags", 1), *NEWEST, ("metadata.expires", 1), ("metadata.parent_id", 1))),
        # What readers see under an author's name.
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
        # What has expired, for editors; and when the site next changes by itself.
        Index("by_expiry", (("metadata.expires", -1), ("_id", -1))),
        # What has a word in its title that begins with what an editor types: the last changed with the same word first.
        Index("by_title_word", (("derived.title_words", 1), *CHANGED)),
        # The pages of a folder, by name.
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


@cache
def keys_of(index: str, collection: str = NODES) -> dict[str, int | str]:
    """Return the keys of a declared index, for hints: its name differs where an upgrade found the declared one taken."""
    declared = next(one for one in collections() if one.name == collection).indexes
    return dict(next(one for one in declared if one.name == index).keys)


def home_of(type: str) -> str:
    """Return the name of the collection in which nodes of a type stand: photos are files, all else are nodes."""
    return ASSET_FILES if content.get(type).is_file else NODES


def node_filter(collection: str) -> dict[str, Any]:
    """Return the filter of the documents of a collection that are nodes or photos, given by id.

    Not so among files: contents that once were, or will be, a photo's; photos whose first upload is under way.
    """
    return {"metadata.content_id": {"$type": "objectId"}} if collection == ASSET_FILES else {}


def sought(gallery_id: ObjectId | None) -> tuple[dict[str, Any], ...]:
    """Return what to add, in turn, to a filter of a photo by id: the gallery in which it stood when its id was noted, for a
    cluster to ask the shards of that alone; and nothing, for what was moved since."""
    return ({"metadata.parent_id": gallery_id}, {}) if gallery_id else ({},)


# What every GridFS driver would create by itself, under the names that it would give.
FILES_INDEXES = (Index("filename_1_uploadDate_1", (("filename", 1), ("uploadDate", 1))),)
CHUNKS_INDEXES = (Index("files_id_1_n_1", (("files_id", 1), ("n", 1)), unique=True),)
CHUNKS_KEY = ShardKey(
    (("files_id", 1), ("n", 1)),
    unique=True,
    reason="A file is read in order from one shard, and an enormous one can split.",
    least=least_id,
)


def collections() -> tuple[Collection, ...]:
    """Return the collections of what editors write, as the content types of the installed apps would have them."""
    return (
        Collection(
            NODES,
            (
                *node_indexes(),
                SEARCH,
                # What stands in a section as editors arranged it; what has no position yet comes first, by its slug.
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
                # The lists of the admin: what was changed last, of all or by one filter; and by state, newest first.
                Index("by_updated", CHANGED),
                Index("section_by_updated", (("metadata.parent_id", 1), *CHANGED)),
                Index("type_by_updated", (("metadata.type", 1), *CHANGED)),
                Index("tag_by_updated", (("metadata.tags", 1), *CHANGED)),
                Index("author_by_updated", (("metadata.author._id", 1), *CHANGED)),
                Index("by_published", (*NEWEST, ("metadata.expires", 1))),
                Index("by_author", (("metadata.author._id", 1), *NEWEST, ("metadata.expires", 1))),
                Index("by_draft", (("draft.saved_at", -1), ("_id", -1)), sparse=True),
                # Changes that are scheduled, which readers see from then on.
                Index("by_due", (("draft.due", -1), ("_id", -1)), sparse=True),
                # The values that a type's lists are filtered by, of all types: "recipe.course=dessert".
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
                # What a section lists by a date of its pages' own, also filtered by facets.
                Index("by_date", (("metadata.parent_id", 1), *OWN_DATE), partial=DATED),
                Index("facet_by_date", (("derived.facets", 1), ("metadata.parent_id", 1), *OWN_DATE), partial=DATED),
                # What stands first among the posts of a section: few.
                Index("by_pin", (("metadata.parent_id", 1), *NEWEST, ("metadata.expires", 1)), partial=PINNED),
                # What uses a node, a photo or an insert, live and in drafts: the two are read side by side, in one order.
                Index("by_ref", (("derived.refs", 1), *CHANGED), partial=REFERRING),
                Index("by_draft_ref", (("draft.refs", 1), *CHANGED), partial={"draft.refs": {"$exists": True}}),
                # What refers to anything, the newest first: looked through for links that lead nowhere. What was looked through
                # already is passed over in the index alone.
                Index("referring", (*NEWEST, ("metadata.expires", 1), ("metadata.parent_id", 1)), partial=REFERRING),
            ),
            shard_key=ShardKey(
                PLACE, unique=True, reason="Only a unique shard key keeps (section, slug) unique over shards."
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
            unsharded_because="Small, and read only where nothing is found.",
        ),
        Collection(
            TRASH,
            (Index("by_newest", (("trashed_at", -1), ("_id", -1))), Index("by_section", (("metadata.parent_id", 1),))),
            validator=schemas.trashed(),
            unsharded_because="Small: what editors threw away.",
        ),
        Collection(SITE, validator=schemas.SITE, unsharded_because="One document."),
        Collection(
            WORKING_COPIES,
            (
                Index("by_form", (("_id.user", 1), ("type", 1), ("node_id", 1), ("updated", -1))),
                Index("by_editor", (("_id.user", 1), ("updated", -1))),
                Index("kept_for_a_month", (("updated", 1),), expire_after_seconds=WORKING_COPY_DAYS * 24 * 60 * 60),
            ),
            validator=schemas.WORKING_COPY,
            unsharded_because="Small, and short-lived: what editors typed and have not saved.",
        ),
        Collection(
            ASSET_FILES,
            (
                *node_indexes(),
                SEARCH,
                *FILES_INDEXES,
                Index("by_updated", (("metadata.updated", -1), ("_id", -1))),
                Index("by_author", (("metadata.author._id", 1), ("metadata.updated", -1))),
                # One index for every property that a camera may write: [{n, v}] searched with $elemMatch.
                Index("by_exif", (("metadata.detail.exif.n", 1), ("metadata.detail.exif.v", 1), *NEWEST)),
                Index("by_sha256", (("metadata.detail.sha256", 1),)),
                # Only uploads under way and those that stopped are locked: a handful of entries.
                Index("by_lock", (("metadata.locked", 1),), partial={"metadata.locked": {"$type": "date"}}),
            ),
            shard_key=ShardKey(
                PLACE, unique=True, reason="Only a unique shard key keeps (gallery, slug) unique over shards."
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
                reason="Each copy is made once, and asked for by both.",
                least=least_id,
            ),
            validator=schemas.RENDITION_FILE,
        ),
        Collection(RENDITION_CHUNKS, CHUNKS_INDEXES, shard_key=CHUNKS_KEY, validator=schemas.CHUNK),
    )
