"""The site: settings, URLs, and what ties nodes and comments together."""
