"""Fixtures for tests of a site, such as `mongo` (a temporary database) and `editor`."""

from cms.testing.plugin import *  # noqa: F403
