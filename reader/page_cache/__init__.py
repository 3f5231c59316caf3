"""The page cache. It stores pages for readers without a session, together with the versions of the pages' data.

Before a page is rendered, the site's versions are read (SiteMiddleware), and before a discussion's comments are read,
its version is read. Writers set new versions once readers can see their change. Therefore, a page whose versions are
current is as new as the data. One command reads all versions of a page and compares the page with the database.

This comparison isn't needed while stamps in shared memory show that nothing has changed. A listener in one process
follows MongoDB's change stream and writes the stamps. If it hasn't heard from MongoDB for half a second, every page is
compared. Pages are therefore never older than a second, and changes made by the same web server are shown immediately.

Every page depends on the site's `site` and `lists` versions. A node's page also depends on the node's nonce and tags. A
page that shows tags of other nodes depends on the versions of these tags. A page that shows text from other nodes
depends on the site's `texts` version (nodes.models.dependencies). If rendering a page reads data without recording the
dependency, the page isn't cached.

If only a page's discussion has changed, the discussion is rendered again and the rest of the page is reused.

Pages are compressed with gzip, which most browsers accept, so that five times as many pages fit into memory. Cached
pages are public, so the length of a compressed page doesn't reveal any secrets.

If there is no primary, pages can't be compared with the database. Readers then see the last cached page, marked as
stale (StaleMiddleware).

cacheable.py   Decides which responses can be cached, and computes their keys.
entries.py     Contains a cached page, and compares it with the database.
storage.py     Stores pages in each process, and in memory that all processes share.
stamps.py      Shows in shared memory which data has changed.
listener.py    Writes the stamps of changes that it reads from the change stream.
own_writes.py  Writes the stamps of changes by this process.
middleware.py  Reads and fills the cache.
"""
