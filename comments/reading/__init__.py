"""Reading comments: selectors, pages of lists, and the presenter for templates."""
