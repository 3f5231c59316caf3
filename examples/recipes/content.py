from django import forms
from django.db import models
from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _
from django_mongodb_backend.fields import ArrayField, EmbeddedModelArrayField

from nodes.content import Blog, Entry, Insert, Part, insert, register, route

COURSES = [("starter", _("Starter")), ("main", _("Main course")), ("dessert", _("Dessert"))]


class Step(Part):
    what = models.CharField(_("what to do"), max_length=300)
    minutes = models.PositiveSmallIntegerField(_("minutes"), null=True, blank=True)


@register
class Recipe(Entry):
    """A dish that can be cooked from its page."""

    stands_in = [Blog]
    schema_org = "Recipe"
    facets = ["course"]

    servings = models.PositiveSmallIntegerField(_("servings"), default=2)
    course = models.CharField(_("course"), max_length=20, choices=COURSES)
    ingredients = ArrayField(models.CharField(max_length=200), verbose_name=_("ingredients"), default=list, blank=True)
    steps = EmbeddedModelArrayField(Step, verbose_name=_("steps"), null=True, blank=True)

    class Meta:
        verbose_name = _("Recipe")

    def linked_data(self):
        return {"recipeYield": self.servings, "recipeIngredient": self.ingredients}

    @route("shopping-list.txt", reads="pages")
    def shopping_list(self, request):
        return HttpResponse("\n".join(self.ingredients), content_type="text/plain; charset=utf-8")


@insert("timer")
class Timer(Insert):
    label = _("Timer")
    help = _("A reminder to set a timer while cooking.")
    template = "recipes/timer.html"
    examples = {"minutes": "10"}

    minutes = forms.IntegerField(label=_("Minutes"), min_value=1)
