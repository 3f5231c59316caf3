"""The admin under the site's own name, and its start page."""
