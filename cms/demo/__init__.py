"""The demo site: a small magazine with its own articles, photos and discussions."""
