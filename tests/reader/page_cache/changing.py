"""A small site, and every change that is possible in it with its scope, for tests of outdated pages."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from bson import ObjectId

from cms.testing.build import EDITOR, PAST, node, nonce
from marginalia.comments.posting import services as comments
from marginalia.comments.types import CommentAuthor
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes.collections import ASSET_FILES
from nodes.models import Node
from nodes.models.stored_site import Scope
from nodes.services import drafts, editing, trash
from nodes.services.site import save_settings
from nodes.types import NO_TAGS, TagChange
from photos.services import photos
from tests.support.nodes import photo_build, pictures

# A text whose excerpt and reading time don't change when text is added at its end.
LONG = "Words of the beginning. " * 100
SHOWS = (
    """[Other](node:{other})

![A lake](photo:{lake})

::posts{{tag=paper count=3}}

::gallery{{section=node:{gallery}}}

"""
    + LONG
)
FEEDS = ("/feed/atom", "/blog/feed/json", "/tag/paper/feed/rss")
# Every item of these lists shows when it was last changed.
STAMPED = ("/api/v1/nodes", "/api/v1/nodes?tag=paper", "/api/v1/nodes/{other}")


@dataclass
class World:
    """A small site in which most nodes are shown in several places, and the URLs of its pages."""

    ids: dict[str, ObjectId] = field(default_factory=dict)

    def __post_init__(self) -> None:
        ids = self.ids
        ids["blog"], ids["folder"], ids["gallery"] = (
            node("blog", "blog"),
            node("folder", "folder"),
            photo_build.gallery(),
        )
        ids["lake"] = photo_build.upload(ids["gallery"], name="lake.jpg", title="Lake", tags=("paper",))
        ids["inner"] = node("folder", "inner", parent=ids["folder"])
        ids["page"] = node("basic-page", "page", parent=ids["inner"], text="In a folder")
        ids["top"] = node("basic-page", "about")
        for day, name in enumerate(("before", "other", "after")):
            at = PAST + timedelta(days=day)
            ids[name] = node("blog-entry", name, parent=ids["blog"], tags=("paper",), text=LONG, published=at)
        text = SHOWS.format(**ids)
        ids["shows"] = node("basic-page", "shows", text=text, **{"detail.picture": ids["lake"]})

    def addresses(self) -> list[str]:
        pages = "/ /blog /blog/before /blog/other /blog/after /folder /folder/inner /folder/inner/page /gallery /gallery/lake"
        more = (
            "/shows /about /tag/paper /author/ann /blog/archive /blog/archive/2020 /blog/archive/2020/01 /sitemap.xml"
        )
        api = "/api/v1/site /api/v1/tree /api/v1/tags /api/v1/authors"
        stamped = [one.format(**self.ids) for one in STAMPED]
        return [*pages.split(), *more.split(), *api.split(), *FEEDS, *stamped]


def save(node_id: ObjectId, tags: TagChange = NO_TAGS, **fields: object) -> None:
    said = {path.replace("__", "."): value for path, value in fields.items()}
    if database()["cms.nodes"].find_one({"_id": node_id}, {"_id": 1}):
        editing.save(EDITOR, node_id, nonce(node_id), said, tags)
    else:
        seen = photo_build.document(node_id)["metadata"]["nonce"]
        photos.save(EDITOR, node_id, seen, said, tags)


def publish(node_id: ObjectId, **fields: object) -> None:
    said = {path.replace("__", "."): value for path, value in fields.items()}
    draft = drafts.save_draft(EDITOR, node_id, nonce(node_id), said).nonce
    drafts.publish_draft(EDITOR, node_id, draft)


Change = Callable[[dict[str, ObjectId]], object]
TAGGED = TagChange(added=frozenset({"ink"}))
NOTHING = "a save of nothing"
# The changes in order, with the scope of each.
CHANGES: list[tuple[str, Scope | None, Change]] = [
    ("end of a text", Scope.TEXTS, lambda ids: save(ids["other"], detail__text=LONG + "End.")),
    ("end of a text, by its draft", Scope.TEXTS, lambda ids: publish(ids["other"], detail__text=LONG + "Draft.")),
    ("words for search engines", Scope.TEXTS, lambda ids: save(ids["other"], detail__seo_description="Said.")),
    ("title", Scope.LISTS, lambda ids: save(ids["other"], title="Another title")),
    ("summary", Scope.LISTS, lambda ids: save(ids["other"], summary="In short")),
    ("summary taken away", Scope.LISTS, lambda ids: save(ids["other"], summary="")),
    ("excerpt", Scope.LISTS, lambda ids: save(ids["other"], detail__text="Begins anew. " + LONG)),
    ("minutes", Scope.LISTS, lambda ids: save(ids["other"], detail__text="Begins anew. " + 9 * LONG)),
    ("picture", Scope.LISTS, lambda ids: save(ids["other"], detail__picture=ids["lake"])),
    ("pin", Scope.LISTS, lambda ids: save(ids["before"], detail__is_pinned=True)),
    ("author", Scope.LISTS, lambda ids: save(ids["after"], author={"_id": None, "name": "Bea"})),
    ("comments closed", Scope.LISTS, lambda ids: save(ids["other"], detail__comments="closed")),
    ("tag, with a save", Scope.TEXTS, lambda ids: save(ids["before"], TAGGED)),
    ("tag, without", Scope.TEXTS, lambda ids: editing.change_tags(ids["other"], TAGGED)),
    ("tag of a photo", Scope.LISTS, lambda ids: editing.change_tags(ids["lake"], TAGGED, ASSET_FILES)),
    ("words of a photo", Scope.LISTS, lambda ids: save(ids["lake"], detail__alt="A lake at night")),
    ("cut of a photo", Scope.LISTS, lambda ids: save(ids["lake"], detail__crop=[0.1, 0.1, 0.5, 0.5])),
    (
        "file of a photo",
        Scope.LISTS,
        lambda ids: photo_build.replace(ids["lake"], pictures.jpeg(picture=pictures.image((80, 60)))),
    ),
    (
        "text at the top level",
        Scope.TEXTS,
        lambda ids: save(ids["shows"], detail__text=SHOWS.format(**ids) + "\n\nEnd."),
    ),
    ("title at the top level", Scope.SITE, lambda ids: save(ids["top"], title="Who we are")),
    ("slug", Scope.SITE, lambda ids: save(ids["other"], slug="renamed")),
    ("slug back", Scope.SITE, lambda ids: save(ids["other"], slug="other")),
    ("section's title", Scope.SITE, lambda ids: save(ids["blog"], title="Journal")),
    ("section's text", Scope.SITE, lambda ids: save(ids["blog"], detail__text="About the journal")),
    ("section's rules", Scope.SITE, lambda ids: save(ids["blog"], detail__comments="closed")),
    ("move", Scope.SITE, lambda ids: save(ids["page"], parent_id=ids["folder"])),
    ("move back", Scope.SITE, lambda ids: save(ids["page"], parent_id=ids["inner"])),
    ("move of a section", Scope.SITE, lambda ids: save(ids["inner"], parent_id=None)),
    ("move of a section back", Scope.SITE, lambda ids: save(ids["inner"], parent_id=ids["folder"])),
    ("taken from readers", Scope.SITE, lambda ids: save(ids["other"], published=None)),
    ("published", Scope.SITE, lambda ids: save(ids["other"], published=PAST + timedelta(days=1))),
    ("expires", Scope.SITE, lambda ids: save(ids["before"], expires=now() + timedelta(days=1))),
    ("new post", Scope.SITE, lambda ids: ids.update(new=node("blog-entry", "new", parent=ids["blog"]))),
    ("trash", Scope.SITE, lambda ids: trash.trash(EDITOR, ids["new"], nonce(ids["new"]))),
    ("out of the trash", Scope.SITE, lambda ids: trash.restore(EDITOR, ids["new"])),
    ("settings", Scope.SITE, lambda ids: save_settings({"name": "Margins"}, {"name": "Marginalia"})),
    (NOTHING, None, lambda ids: save(ids["other"])),
    (
        "new post that is not public",
        Scope.TEXTS,
        lambda ids: ids.update(
            unseen=node("blog-entry", "unseen", parent=ids["blog"], published=None, tags=("paper",))
        ),
    ),
    ("its title", Scope.TEXTS, lambda ids: save(ids["unseen"], title="Another", summary="In short")),
    ("its slug and picture", Scope.TEXTS, lambda ids: save(ids["unseen"], slug="hidden", detail__picture=ids["lake"])),
    ("its publication", Scope.SITE, lambda ids: save(ids["unseen"], published=PAST)),
    ("comment", None, lambda ids: comment(ids["other"])),
]
# The changes of quick tests.
_FEW = {"end of a text", "title", "tag, without", "words of a photo", "section's title", "comment"}
FEW_CHANGES = [change for change in CHANGES if change[0] in _FEW]


def comment(node_id: ObjectId) -> None:
    comments.post(Node.objects.get(pk=node_id), author=CommentAuthor("Bea"), source="Hello there", token="t" * 16)
