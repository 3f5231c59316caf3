"""A small app with a content type of its own: docs/how-to/add-a-content-type.md leads through it."""
