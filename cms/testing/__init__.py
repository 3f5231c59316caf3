"""Test support for sites: settings, a temporary MongoDB server, pytest fixtures, and functions that create content.

settings.py        settings that keep tests away from the site's data
plugin.py          a pytest plugin with the fixtures `mongo` and `editor`
build.py           create and save nodes
photos.py          create photos
factories.py       create nodes with generated values
generated.py       generate valid values for a content type's fields
editors.py         open and submit admin forms
database.py        empty the test database
process_caches.py  empty the caches of the test process

docs/how-to/test-your-project.md explains how to use these modules.
"""
