"""The guide to changing a content type: its example works as described."""

import re
from pathlib import Path

from django.db import models
from django_mongodb_backend.fields import EmbeddedModelArrayField

from nodes.checks import check_content
from nodes.content import registry, unregister, upgrading

GUIDE = Path(__file__).parents[2] / "docs/how-to/change-a-content-type.md"


def test_example_upgrades_as_the_guide_describes():
    (code,) = re.findall(r"```py\n(.*?)```", GUIDE.read_text(), re.S)
    names = {"__name__": __name__, "models": models, "EmbeddedModelArrayField": EmbeddedModelArrayField}
    exec(code, names)  # noqa: S102
    try:
        assert check_content() == []
        assert registry.get("recipe") is names["Recipe"]
        stored = {"type": "recipe", "detail": {"serves": 4, "ingredients": ["beans"]}}
        detail = upgrading.upgraded(stored)["detail"]
        assert (detail["servings"], [part["name"] for part in detail["ingredients"]]) == (4, ["beans"])
        assert upgrading.upgraded({"type": "recipe", "detail": {}})["detail"] == {"ingredients": []}
    finally:
        unregister(names["Recipe"])
