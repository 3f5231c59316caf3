"""Pages, posts, sections and photos, which editors write."""
