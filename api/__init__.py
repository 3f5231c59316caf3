"""The HTTP API at /api/v1/, which mirrors, apps, static front ends and scripts use to read and write the site.

It uses the same selectors, actions and access functions as the admin, and imports nothing from the admin. It has no
rules of its own for nodes or comments.

    urls.py        the API: its routers under /api/v1/, its OpenAPI document and its reference page
    nodes/         pages, posts and sections: reading and writing them
    photos/        files of photos: uploads, whole or in pieces, replacements and downloads
    comments/      discussions
    changes/       the feed of changes
    site.py        the site, its menu, the tree of sections, tags, authors; site_settings.py: all settings
    schemas/       shapes and fields of nodes, made from the registry of content types; the OpenAPI document; the
                   reference page
    http/          how endpoints are declared (routing.py), JSON, ETags, If-Match and cursors (responses.py),
                   repeated requests with an Idempotency-Key (idempotency.py)
    rights/        authentication and permissions: tokens, scopes, principals, limits
    admin.py       the admin page where users create and revoke tokens
    problems.py    errors, as application/problem+json; refusals.py: errors of actions and services on nodes, as problems
    middleware.py  CORS, 304 and RateLimit-*; runs outside the page cache (reader/page_cache/), which stores shared responses

An endpoint is a function under a `Router` of api/http/routing.py. It reads `request.auth`, a Principal, which access
functions accept instead of a user.
"""
