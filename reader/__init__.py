"""The public site: views, feeds, search, themes, the page cache, and cache headers and purges for a CDN."""
