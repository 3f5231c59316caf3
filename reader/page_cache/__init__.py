"""The page cache: pages for readers without a session, stored with the versions that they were rendered from.

A cached page is never stale unless it is marked as stale. The site's versions are read before anything else (SiteMiddleware).
The versions of a discussion are read before its comments. Writers set new versions after readers can see their change. So a
page rendered under the current versions is as new as the data. Each request compares the entry with the database, with one
command that reads all versions of the page. Only PAGE_CACHE_TRUST_MS makes a process trust an entry for a while.

Every page depends on the site's versions `site` and `lists`. The page of a node also depends on the node's nonce and tags. A
page that shows tags of other nodes depends on the versions of these tags. A page that shows texts of other nodes depends on
the site's `texts` (nodes.models.dependencies). If rendering a page read anything that reports no dependency, the page is not
cached.

If only the discussion of a page has changed, the discussion is rendered again and the rest of the page is reused.

Pages are stored compressed with gzip, as browsers accept them, so five times as many fit. Cached pages are public, so the
length of a compressed page reveals nothing.

Without a primary there is nothing to compare with. Readers then get the last cached page, marked as stale (StaleMiddleware).

    cacheable.py   the responses that can be cached, and their keys
    entries.py     a cached page, and its comparison with the database
    storage.py     the memory of each process, and the memory that all processes share
    middleware.py  the middleware that reads and fills the cache
"""
