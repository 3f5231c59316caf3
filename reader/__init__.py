"""The public pages: views, feeds, search, themes, the page cache, and headers and purges for a CDN."""
