"""docs/reference/content-types.md: the examples are valid content types."""

import re

from django.db import models
from django.utils.translation import gettext_lazy
from django_mongodb_backend.fields import EmbeddedModelArrayField

from nodes import content
from nodes.checks import check_content
from tests.docs.pages import ROOT
from tests.support.nodes.content import registered

BLOCK = re.compile(r"^```py\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_examples_of_content_types_pass_the_checks():
    found = BLOCK.findall((ROOT / "docs/reference/content-types.md").read_text())
    # Other tests execute the examples that need an app.
    blocks = [block for block in found if "@register" in block and "oursite" not in block]
    types: dict[str, type[content.Content]] = {}
    names = vars(content) | {"__name__": __name__, "models": models, "_": gettext_lazy}
    names |= {"EmbeddedModelArrayField": EmbeddedModelArrayField}
    names["register"] = lambda type: types.setdefault(type.type_name, type)
    for block in blocks:
        # The examples import the real `register`.
        exec(re.sub(r"^from nodes\.content import .*$", "", block, flags=re.MULTILINE), names)  # noqa: S102
    assert {"board", "season", "concert", "event", "festival", "menu", "booking"} <= set(types)
    with registered(*types.values()):
        assert check_content() == []
