"""The examples in the editor's help render as described."""

import re
from html import unescape

import pytest
from django.template.loader import render_to_string

from marginalia.markup import markdown


def spellings() -> list[str]:
    html = render_to_string("editor/_editor.html", {"words": {}})
    cells = re.findall(r"<tr><td>(.+?)</td>", html)
    return [unescape(re.sub("<[^<>]*>", "", cell.replace("<br>", "\n"))) for cell in cells]


@pytest.mark.parametrize(
    ("begins", "makes"),
    [
        ("*w", "<em>"),
        ("- [ ]", 'class="task"'),
        ("==", "<mark>"),
        ("words[^1]", 'class="footnotes"'),
        ("> [!NOTE]", 'data-insert="note{kind=note}"'),
        ("```", 'class="language-python"'),
        ("$", 'class="language-math"'),
    ],
)
def test_each_spelling_renders_as_described(begins, makes):
    (written,) = (spelling for spelling in spellings() if spelling.startswith(begins))
    assert makes in markdown.render(written, "article")
