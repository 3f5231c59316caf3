"""A content type whose fields contain parts to depth three."""

from django.db import models
from django_mongodb_backend.fields import EmbeddedModelArrayField, EmbeddedModelField

from nodes.content import MarkdownField, Page, Part


class Tool(Part):
    """A tool for a task."""

    name = models.CharField("name", max_length=20)
    count = models.IntegerField("count", default=1)
    is_sharp = models.BooleanField("sharp", default=True)


class Task(Part):
    """A task of a phase, which needs tools."""

    what = models.CharField("what", max_length=40)
    how = MarkdownField("how", blank=True)
    tools = EmbeddedModelArrayField(Tool, verbose_name="tools", null=True, blank=True)
    main = EmbeddedModelField(Tool, verbose_name="main tool", null=True, blank=True)


class Phase(Part):
    """A phase of a project, which consists of tasks."""

    title = models.CharField("title", max_length=40)
    tasks = EmbeddedModelArrayField(Task, verbose_name="tasks", null=True, blank=True)


class Project(Page):
    """A page whose fields are nested to depth three."""

    phases = EmbeddedModelArrayField(Phase, verbose_name="phases", null=True, blank=True)
    last = EmbeddedModelField(Phase, verbose_name="last phase", null=True, blank=True)

    class Meta:
        verbose_name = "project"


PHASES = [
    {
        "title": "Plan",
        "tasks": [
            {"what": "Draw", "how": "Use **ink**.", "tools": [{"name": "pen"}, {"name": "ruler", "count": 2}]},
            {"what": "Measure", "main": {"name": "tape"}},
        ],
    },
    {"title": "Build", "tasks": []},
]
