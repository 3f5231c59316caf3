"""The page cache: pages for readers without a session, stored with the versions from which they were rendered.

A cached page is never outdated unless it is marked as stale. The site's versions are read before anything else
(SiteMiddleware). The versions of a discussion are read before its comments. Writers set new versions after readers can
see their change. A page rendered under the current versions is therefore as new as the data. Each request compares the
entry with the database, with one command that reads all versions of the page. A process trusts an entry without this
comparison only if PAGE_CACHE_TRUST_MS allows it, and only for that time.

Every page depends on the site's versions `site` and `lists`. The page of a node also depends on the node's nonce and
tags. A page that shows tags of other nodes depends on the versions of these tags. A page that shows texts of other
nodes depends on the site's `texts` (nodes.models.dependencies). A page is not cached if its rendering read data
without reporting a dependency.

If only the discussion of a page has changed, the discussion is rendered again and the rest of the page is reused.

Pages are stored compressed with gzip, the form in which most browsers accept them, so the memory has room for five
times as many pages. Cached pages are public, so the length of a compressed page reveals nothing.

Without a primary, pages cannot be compared with the database. Readers then get the last cached page, marked as stale
(StaleMiddleware).

cacheable.py   the responses that can be cached, and their keys
entries.py     a cached page, and its comparison with the database
storage.py     the memory of each process, and the memory that all processes share
middleware.py  the middleware that reads and fills the cache
"""
