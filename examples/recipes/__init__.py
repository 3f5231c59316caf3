"""A small app with a content type of its own: docs/tutorial/your-first-content-type.md leads through it."""
