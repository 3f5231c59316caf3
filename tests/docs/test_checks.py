"""docs/reference/checks.md lists every system check of the project."""

import re

from tests.docs.packages import PACKAGES
from tests.docs.pages import ROOT

RAISED = re.compile(r'id="((?:api|cms|comments|editor|mongo|nodes|tasks)\.[EW]\d{3})"')


def test_exactly_the_existing_checks_are_documented():
    raised = {
        found
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for found in RAISED.findall(path.read_text())
    }
    page = (ROOT / "docs/reference/checks.md").read_text()
    assert re.findall(r"^\| `([a-z]+\.[EW]\d{3})` \|", page, re.MULTILINE) == sorted(raised)
