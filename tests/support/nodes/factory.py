"""Nodes of any registered content type, made from its declaration: factory_for("recipe")(course="main")."""

from typing import Any

import factory
from bson import ObjectId

from nodes import content
from nodes.content import declared_fields
from tests.support.nodes import valid
from tests.support.nodes.build import node

# What every node has besides the fields that its type declares.
_COMMON = ("author", "expires", "summary")
# What the builder of nodes takes by these names.
_BUILT = ("parent_id", "slug", "title", "text", "published", "tags")


class NodeFactory(factory.Factory):
    """Makes nodes by the service that editors' forms use, and returns their ids: what a field refuses raises InvalidField.

    Arguments are the type's fields by name, beside `parent_id`, `slug`, `title`, `text`, `published`, `tags` and the like. What
    is not said is made: a section where the type needs one, an address, the fields that have no default.
    """

    class Meta:
        abstract = True

    slug = ""
    text = ""

    @classmethod
    def _create(cls, model_class: Any, *args: Any, **said: Any) -> ObjectId:
        paths = {field.name: path for path, field in declared_fields.declared(model_class.type_name).items()}
        given = {
            name if name in _COMMON else paths.get(name, f"detail.{name}"): said.pop(name)
            for name in list(said)
            if name not in _BUILT
        }
        return node(model_class.type_name, parent=said.pop("parent_id"), **said, **given)


def factory_for(type: str) -> type[NodeFactory]:
    """Return the factory of a content type: call it for one node, or its create_batch(3) for three."""
    known = declared_fields.declared(type)
    needed = {known[path].name: value for path, value in valid.least(type).items()}
    model: Any = content.get(type)
    section = factory.LazyFunction(lambda: valid.home(type))
    return factory.make_factory(model, FACTORY_CLASS=NodeFactory, parent_id=section, title=str(model.label), **needed)
