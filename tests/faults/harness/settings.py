"""The site's settings, for visitors who type faster and more than people."""

from cms.settings import *  # noqa: F403
from cms.settings import COMMENTS as SITE
from tests.faults.harness import BOUND

# Every discussion starts embedded.
COMMENTS = {
    **SITE,
    "MIN_SECONDS": 0,
    "RATE": (10_000_000, 600),
    "KEEP_OLD_COPY": 2,
    "TARGETS": {"nodes.node": {**SITE["TARGETS"]["nodes.node"], "LAYOUT": "embedded", "OPTIONS": {"BOUND": BOUND}}},
}
