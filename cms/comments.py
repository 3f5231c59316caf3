"""Comments on nodes and photos: their visibility, policy and storage layout, and their deletion with the node."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bson import ObjectId
from django.core import checks
from django.db.models import Model
from django.dispatch import receiver

from editor import relogin
from marginalia import comments
from marginalia.comments import targets
from marginalia.comments.backends import can_store, layout_classes
from marginalia.comments.posting import rendering, services
from marginalia.comments.posting.policy import Mode, Policy, closing_time
from marginalia.comments.types import Target
from marginalia.mongo.clock import now
from nodes import languages
from nodes.collections import ASSET_FILES, NODES
from nodes.content import FILE, PHOTO, Content, registry
from nodes.models import BaseNode, Node, Photo, stored_site, tree
from nodes.models.tree import SectionEntry
from nodes.search import languages as search_languages
from nodes.selectors import lists, stored_nodes, stored_photos
from nodes.signals import node_deleted

# A search in a section covers at most this many nodes, and this many photos.
MAX_IN_SECTION = 20_000


def register() -> None:
    """Enable comments on nodes and photos.

    Moderators whose session has expired can log in again without losing their form (editor.relogin).
    """
    relogin.FORMS["marginalia_comments_moderation_comment"] = "text"
    comments.register(Node, visible=live_nodes)
    comments.register(Photo, visible=live_photos)


def live_nodes(ids: list[ObjectId]) -> Iterable[Model]:
    """Return the nodes with these ids that readers can see: live nodes in live sections."""
    return stored_nodes.live_by_ids(tree.current(), ids, now())


def live_photos(ids: list[ObjectId]) -> Iterable[Model]:
    """Return the photos with these ids that readers can see: live photos in live sections."""
    return stored_photos.live_by_ids(tree.current(), ids, now())


def render(source: str) -> str:
    """Return the typed text of a comment as HTML. Mark its language unless it is the site's language or unclear."""
    html = rendering.render(source)
    code = search_languages.guess(source)
    if code in ("", search_languages.main_code(stored_site.current().settings.language)):
        return html
    return f'<div lang="{code}" dir="{languages.direction(code)}">{html}</div>'


def policy(obj: Any) -> Policy:
    """Return an object's comment policy.

    The comment mode comes from the node, from its type, from the nearest section that sets a mode, or from the site
    settings, in this order. The number of comments after which writers are trusted comes from the node, from the
    nearest section that sets a number, or from the site settings.
    """
    settings = stored_site.current().settings
    mode, trust_after, published = settings.comment_policy, settings.comments_trust_after, None
    if isinstance(obj, BaseNode):
        published = obj.metadata.published
        nearest_first = (tree.current().ancestors(obj.metadata.parent_id) or [])[::-1]
        mode = _comment_mode(obj, nearest_first) or mode
        numbers = (getattr(obj.metadata.detail, "trust_after", None), *(s.trust_after for s in nearest_first))
        trust_after = next((number for number in numbers if number is not None), trust_after)
    closes = closing_time(published, settings.comments_close_after_days)
    return Policy(Mode(mode), closes, trust_after=trust_after, likes=settings.comment_likes)


def _comment_mode(node: BaseNode, nearest_first: Sequence[SectionEntry]) -> str:
    """Return the comment mode of the node or, if it has none, of its nearest section with a mode, or ""."""
    own_mode = node.metadata.detail.comments if node.metadata.detail else ""
    levels = ((own_mode, node.content_type), *((section.comments, section.content_type) for section in nearest_first))
    return next((mode for chosen, type in levels for mode in (chosen, type.comment_policy) if mode in tuple(Mode)), "")


def authors(obj: Any) -> frozenset[str]:
    """Return the id of the account that wrote a node, if there is one. This function is used as COMMENTS["AUTHORS"]."""
    author = obj.metadata.author if isinstance(obj, BaseNode) else None
    return frozenset({str(author.id)}) if author and author.id else frozenset()


class Sections(targets.Sections):
    """The public sections, by which moderators can search for comments. This class is used as COMMENTS["SECTIONS"]."""

    def choices(self) -> list[tuple[str, str]]:
        """Return the id and the title of each public section, indented by its depth."""
        sections = tree.current()
        moment = now()

        def walk(parent_id: ObjectId | None, depth: int) -> Iterator[tuple[str, str]]:
            for section in sections.children.get(parent_id, ()):
                if sections.is_live(section.id, moment):
                    yield str(section.id), "\u2003" * depth + section.title
                    yield from walk(section.id, depth + 1)

        return list(walk(None, 0))

    def targets(self, key: str) -> Iterator[Target]:
        """Yield the nodes and photos in a section and in the sections below it."""
        section_id = ObjectId(key)
        ids = [section_id, *(section.id for section in tree.current().descendants(section_id))]
        yield from (Target(Node._meta.label_lower, str(section)) for section in ids)
        for model, collection in ((Node, NODES), (Photo, ASSET_FILES)):
            for child in lists.children_ids(collection, ids, MAX_IN_SECTION):
                yield Target(model._meta.label_lower, str(child))


def layout(target: Target) -> str:
    """Return the storage layout for a new discussion on a node or photo.

    If the node's type doesn't set a layout, the layout comes from the type of the nearest section that sets one.

    Returns:
        The layout. If no type sets a layout, or if the target isn't a node or a photo, the result is "", and the
        settings determine the layout.
    """
    getters = {model._meta.label_lower: get for model, get in ((Node, stored_nodes.get), (Photo, stored_photos.get))}
    # If no type sets a layout, the node doesn't have to be read.
    if target.label not in getters or not any(type.comment_layout for type in registry.types()):
        return ""
    node = getters[target.label](target.pk)
    if node is None:
        return ""
    ancestors = reversed(tree.current().ancestors(node.metadata.parent_id) or [])
    types = (node.content_type, *(section.content_type for section in ancestors))
    return next((type.comment_layout for type in types if type.comment_layout), "")


@checks.register()
def check_layouts(**kwargs: Any) -> list[checks.CheckMessage]:
    """Report cms.E001 for each content type whose layout doesn't exist, or can't store discussions on nodes."""
    errors: list[checks.CheckMessage] = []
    for type in registry.types():
        if not (name := type.comment_layout):
            continue
        labels = {_label(child) for child in registry.types() if child is type or _can_contain(type, child)}
        possible = [layout for layout in layout_classes() if all(can_store(layout, label) for label in labels)]
        if name not in possible:
            message = f"{type.__module__}.{type.__name__}.comment_layout can't be {name!r}."
            hint = f"Use one of: {', '.join(possible)}. COMMENTS['TARGETS'] sets which documents can contain comments."
            errors.append(checks.Error(message, hint=hint, obj=type, id="cms.E001"))
    return errors


def _can_contain(section: type[Content], child: type[Content]) -> bool:
    # Files have no comments.
    return section.is_section and child.type_name != FILE and child.may_stand_in(section)


def _label(type: type[Content]) -> str:
    return str((Photo if type.is_file else Node)._meta.label_lower)


@receiver(node_deleted)
def delete_discussion(*, node_id: ObjectId, type: str, **kwargs: Any) -> None:
    """Delete the discussion on a permanently deleted node or photo."""
    if type == FILE:
        # Files have no comments.
        return
    model = Photo if type == PHOTO else Node
    services.delete_discussion(Target(model._meta.label_lower, str(node_id)))
