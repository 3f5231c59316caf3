"""Fixtures from the site's own tests, such as a database and editors who fill in forms."""

from tests.conftest import *  # noqa: F403
