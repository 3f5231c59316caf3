"""Who asks, and what of it is allowed: tokens, scopes, principals, limits."""
