"""Reading comments: selectors, the pages of a discussion, and the presentation of comments in templates."""
