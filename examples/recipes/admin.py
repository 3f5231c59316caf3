from django import forms
from django.utils.translation import gettext_lazy as _

from editor.extensions import (
    BulkAction,
    Column,
    ContentAdmin,
    DashboardTile,
    FieldGroup,
    NavigationItem,
    Panel,
    register,
)
from editor.forms import NodeForm
from marginalia.mongo.clock import now
from nodes.access import NodePermission
from nodes.actions import NodeAction, SaveNode
from nodes.selectors import waiting
from nodes.selectors.lists import Filters

from .content import Recipe


class RecipeForm(NodeForm):
    class Meta:
        widgets = {"course": forms.RadioSelect}
        help_texts = {"servings": _("The number of people who can eat this.")}

    def clean(self):
        data = super().clean()
        if self.seen is None and not data.get("summary"):
            data["summary"] = ", ".join(data.get("ingredients", []))
        return data


class CookingTime(Panel):
    label = _("Cooking time")
    template = "recipes/cooking_time.html"

    def context(self, node, user):
        return {"minutes": sum(step.minutes or 0 for step in node.metadata.detail.steps or [])}


class Ingredients(Column):
    label = _("Ingredients")
    fields = ["ingredients"]

    def value(self, node, user):
        return len(node.metadata.detail.ingredients)


class Double(NodeAction):
    needs = NodePermission.EDIT

    def execute(self):
        live = self.check().live
        doubled = {"detail.servings": 2 * live.fields["detail.servings"]}
        SaveNode(user=self.user, node_id=self.node_id, seen=live.nonce, fields=doubled).execute()


class DoubleServings(BulkAction):
    label = _("Double the servings")
    action_class = Double
    confirmation = _("The amounts of the ingredients will stay the same.")


@register
class RecipeAdmin(ContentAdmin):
    content_types = [Recipe]
    form_class = RecipeForm
    panels = [FieldGroup(_("Cooking"), ["course", "servings"]), CookingTime]
    columns = [Ingredients]
    actions = [DoubleServings]


@register
class Drafts(DashboardTile):
    label = _("Unpublished recipes")
    template = "recipes/drafts.html"
    permission = "nodes.publish_node"

    def context(self, user):
        return {"count": waiting.count(Filters(type="recipe", state="unpublished"), now())}


@register
class BrokenLinks(NavigationItem):
    label = _("Broken links")
    url_name = "admin:nodes_node_broken_links"
    permission = "nodes.publish_node"
