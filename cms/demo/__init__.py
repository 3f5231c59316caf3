"""The demo site: a small magazine, written for it, and bulk content for measurements."""
