"""Authentication and permissions: tokens, scopes, principals and rate limits."""
