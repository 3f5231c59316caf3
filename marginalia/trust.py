"""How many public comments make a writer trusted. The comments app and the site's settings share these numbers."""

# The number for sites that don't choose one.
DEFAULT_TRUST_AFTER = 1
# The maximum, because a browser remembers only this many comments.
MAX_TRUST_AFTER = 8
