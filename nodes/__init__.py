"""Pages, posts, sections and photos: everything that an editor writes."""
