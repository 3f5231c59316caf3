"""Node factories for any registered content type, built from its declaration: factory_for("recipe")(course="main")."""

from typing import Any

import factory
from bson import ObjectId

from cms.testing import generated
from cms.testing.build import node
from nodes import content
from nodes.content import declared_fields

# Fields that every node has, in addition to the fields that its type declares.
_COMMON = ("author", "expires", "summary")
# The arguments that build.node accepts.
_BUILD_ARGUMENTS = ("parent_id", "slug", "title", "text", "published", "tags")


class NodeFactory(factory.Factory):
    """A factory that creates nodes with the service that editors' forms use, and returns the nodes' ids.

    The arguments are the type's fields by name, and `parent_id`, `slug`, `title`, `text`, `published` and `tags`.
    Missing values are generated: a section if the type needs one, a slug, and required fields without a default.

    Raises:
        InvalidField: A value is invalid.
    """

    class Meta:
        abstract = True

    slug = ""
    text = ""

    @classmethod
    def _create(cls, model_class: Any, *args: Any, **values: Any) -> ObjectId:
        paths = {field.name: path for path, field in declared_fields.declared(model_class.type_name).items()}
        fields = {
            name if name in _COMMON else paths.get(name, f"detail.{name}"): values.pop(name)
            for name in list(values)
            if name not in _BUILD_ARGUMENTS
        }
        return node(model_class.type_name, parent=values.pop("parent_id"), **values, **fields)


def factory_for(type: str) -> type[NodeFactory]:
    """Return a content type's factory.

    To create a node, call the factory. To create three nodes, call its method create_batch(3).
    """
    declared = declared_fields.declared(type)
    required = {declared[path].name: value for path, value in generated.minimal_values(type).items()}
    model: Any = content.get(type)
    section = factory.LazyFunction(lambda: generated.create_parent(type))
    return factory.make_factory(model, FACTORY_CLASS=NodeFactory, parent_id=section, title=str(model.label), **required)
