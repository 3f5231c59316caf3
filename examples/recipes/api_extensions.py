from typing import Any

from bson import ObjectId
from django.http import Http404, HttpRequest

from api.extensions import Id, Router, Shape, register
from marginalia.mongo.clock import now
from nodes.models import tree
from nodes.selectors import stored_nodes

router = Router(tags=["Recipes"])


class ShoppingList(Shape):
    """The ingredients of a recipe."""

    title: str
    ingredients: list[str]


@router.get("/{node_id}/shopping-list", response=ShoppingList)
def shopping_list(request: HttpRequest, node_id: Id) -> dict[str, Any]:
    """Return the ingredients of a public recipe."""
    node = stored_nodes.live_by_id(tree.current(), ObjectId(node_id), now())
    if node is None or node.metadata.type != "recipe":
        raise Http404
    return {"title": node.metadata.title, "ingredients": node.metadata.detail.ingredients}


register("recipes", router)
