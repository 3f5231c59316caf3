"""The API: what mirrors, apps, static front ends and scripts read and write over HTTP, at /api/v1/.

Over the same selectors, services and access functions as the admin, and with no rule of its own about nodes or comments.

    urls.py        the API: which routers stand under /api/v1/, its schema and the page that explains it
    nodes/         pages, posts and sections: reading and writing them
    photos/        pictures: taken in, whole or in pieces, replaced, and sent
    comments/      discussions
    changes/       what changed since
    site.py        the site, its menu, the tree of sections, tags, authors; site_settings.py: all settings
    schemas/       what is promised: shapes of nodes made from the registry of content types, OpenAPI, the page of it
    http/          how endpoints are declared (routing.py) and answered: JSON, ETags, If-Match, cursors (answers.py), once
                   for each Idempotency-Key (once.py)
    rights/        who asks and what of it is allowed: tokens, scopes, principals, limits
    admin.py       the page where tokens are made and revoked
    problems.py    what goes wrong, as application/problem+json
    middleware.py  CORS, 304 and RateLimit-*, outside of the page cache, which keeps what all readers get (reader/page_cache/)

An endpoint is a function under a `Router` of api/http/routing.py; it reads `request.auth`, a Principal, which stands for a
user wherever an access function asks for one.
"""
