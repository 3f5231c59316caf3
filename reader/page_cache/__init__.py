"""Pages for readers without a session, kept in process under the versions they were made from. Never stale, unless they say so.

The site's versions are read before anything else (SiteMiddleware), each discussion's before its comments, and writers set new
versions after their change can be read. What was made under the present versions is therefore as new as the data; an entry
is compared with the database at every request, by one command that reads all versions that a page has; it is trusted for a
while only where PAGE_CACHE_TRUST_MS says so.

Every page depends on the site's `frame` and `lists`; that of a node on its nonce and tags; what shows tags of other nodes, on
the versions of these; what shows other texts, on the site's `texts` (nodes.models.dependencies). A page for which something was
read that notes none of these is not kept.

Where a page's discussion alone is another, that part is made anew, and the rest stays.

A page is kept packed, as browsers take it: five times as many find room. It is public, and so tells nothing by its length.

While no primary answers there is nothing to compare with: readers get what was kept last, marked as stale (StaleMiddleware).

    entries.py     a page that is kept, and whether it holds
    kept.py        where: in each process, and in memory that all share
    middleware.py  from there and into it
"""
