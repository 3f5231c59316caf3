"""The public pages: views, feeds, search, themes, the page cache and the caches in front."""
