"""Reading comments: selectors, pages of lists, the presenter that templates see."""
