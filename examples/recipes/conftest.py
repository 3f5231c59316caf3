"""The fixtures of the site's own tests: a database, editors at their forms."""

from tests.conftest import *  # noqa: F403
