"""The example apps: their own tests pass under their own settings, and the guides show their code."""

import os
import re
import subprocess
import sys

import pytest

from tests.docs.pages import blocks
from tests.support.site_settings import ROOT

pytestmark = pytest.mark.slow

GUIDE = "your-first-content-type.md"
# The tests of every registered type also pass for the types of an app, under its settings.
EVERY_TYPE = [
    "tests/nodes/content/test_every_type.py",
    "tests/nodes/content/test_every_type_hostile.py",
    "tests/rights/test_every_type.py",
]


@pytest.mark.parametrize(
    "tests",
    [
        pytest.param(["-m", "not slow", "examples/recipes"], id="their own"),
        pytest.param(["-m", "", "-k", "recipe", *EVERY_TYPE], marks=pytest.mark.slow, id="every type"),
    ],
)
def test_recipes_example_works(tests):
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "examples.recipes.settings_for_tests",
        "TEST_MONGODB_NAME": f"recipes_{os.getpid()}",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\b[1-9]\d* passed", done.stdout)
    assert "skipped" not in done.stdout


def test_guide_shows_the_code_of_the_example():
    shown = [block.text for block in blocks(GUIDE, "tutorial")]
    for path in ("content.py", "templates/nodes/recipe.html", "templates/recipes/timer.html"):
        assert (ROOT / "examples/recipes" / path).read_text() in shown


def test_extension_guide_shows_the_endpoints_of_the_example():
    shown = [block.text for block in blocks("extend.md", heading="Add API endpoints")]
    assert (ROOT / "examples/recipes/api_extensions.py").read_text() in shown
