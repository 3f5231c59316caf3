"""Pages, posts, sections and photos: the content that editors manage."""
