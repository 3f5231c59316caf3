"""The HTTP API at /api/v1/, which mirrors, apps, static front ends and scripts use to read and change the site.

The API uses the same selectors, actions and access functions as the admin, but imports nothing from the admin. The API
doesn't define its own rules for nodes or comments.

    urls.py           the API's URLs, including its OpenAPI document and its reference page
    nodes/            endpoints for pages, posts and sections
    photos/           endpoints that upload, replace and download photo files
    comments/         endpoints for discussions
    embed/            discussions that pages of other sites embed, and the endpoints of their script
    changes/          the change feed
    site.py           endpoints for the site, its menu, the section tree, tags and authors
    site_settings.py  endpoints for the site's settings
    extensions.py     endpoints that apps add under /api/v1/x/
    schemas/          schemas generated from the registered content types, the OpenAPI document, and the reference page
    http/             the router, helpers for JSON, ETags, If-Match and cursors, and Idempotency-Keys
    rights/           authentication, tokens, scopes, principals and rate limits
    admin.py          the admin page where users create and revoke tokens
    checks.py         system checks of computed fields and added endpoints
    problems.py       conversion of errors to application/problem+json
    refusals.py       conversion of errors from actions and services to problems
    models.py         the model of pages that embed a discussion
    middleware.py     middleware for CORS, rate limit headers and status 304, which runs outside the page cache

An endpoint is a function registered with a `Router` from api/http/routing.py. The function reads `request.auth`, which
is a Principal. Access functions accept a Principal instead of a user.
"""
