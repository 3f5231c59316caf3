"""The HTTP API at /api/v1/, which mirrors, apps, static front ends and scripts use to read and change the site.

The API uses the same selectors, actions and access functions as the admin, but imports nothing from the admin. The API
doesn't define its own rules for nodes or comments.

    urls.py        the API: its routers under /api/v1/, its OpenAPI document and its reference page
    nodes/         pages, posts and sections: reading and writing
    photos/        photo files: uploads (in a single request or resumable), replacements and downloads
    comments/      discussions
    changes/       the change feed
    site.py        the site, its menu, the tree of sections, tags, authors; site_settings.py: all settings
    schemas/       the schemas and fields of nodes, generated from the registered content types; the OpenAPI document;
                   the reference page
    http/          the declaration of endpoints (routing.py), JSON, ETags, If-Match and cursors (responses.py),
                   repeated requests with an Idempotency-Key (idempotency.py)
    rights/        authentication and permissions: tokens, scopes, principals, limits
    admin.py       the admin page where users create and revoke tokens
    problems.py    errors, as application/problem+json; refusals.py: errors from actions and services, as problems
    middleware.py  CORS, 304 and RateLimit-*; runs outside the page cache, which stores shared responses

An endpoint is a function registered with a `Router` from api/http/routing.py. It reads `request.auth`, a Principal.
Access functions accept a Principal instead of a user.
"""
