"""The guides to extending the admin and to tests show the code of the recipes example."""

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


def test_guide_to_tests_shows_the_tests_of_the_example():
    page = (ROOT / "docs/how-to/test-your-project.md").read_text()
    (shown,) = re.findall(r"```python\n(.*?)```", page, re.S)
    code = (EXAMPLE / "test_admin.py").read_text()
    _imports, *parts = shown.strip().split("\n\n\n")
    assert len(parts) == 4
    assert all(part in code for part in parts)
