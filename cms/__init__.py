"""The site: settings, URLs, and what ties nodes and comments together."""

__version__ = "0.1.0"
