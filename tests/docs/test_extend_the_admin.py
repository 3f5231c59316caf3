"""The guide to extending the admin shows the code of the recipes example, which has its own tests."""

import re

from tests.docs.pages import ROOT

EXAMPLE = ROOT / "examples/recipes"


def test_guide_shows_the_code_of_the_example():
    page = (ROOT / "docs/how-to/extend.md").read_text()
    section = page.partition("\n## Extend the admin\n")[2].partition("\n## ")[0]
    shown = re.findall(r"```python\n(.*?)```", section, re.S)
    code = (EXAMPLE / "admin.py").read_text()
    assert all(block in code for block in shown)
    assert "".join(sorted("".join(shown).split())) == "".join(sorted(code.split()))
    (template,) = re.findall(r"```html\n(.*?)```", section, re.S)
    assert template == (EXAMPLE / "templates/recipes/cooking_time.html").read_text()
