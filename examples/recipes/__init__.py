"""A small app with its own content type. docs/tutorial/your-first-content-type.md explains it step by step."""
