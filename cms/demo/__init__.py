"""The demo site: a small magazine with texts and photos of its own, and bulk content for measurements."""
