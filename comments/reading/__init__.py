"""Reading comments: selectors, pages of a discussion, and the presenter for templates."""
