"""Pure functions that convert Markdown to clean HTML and HTML to plain text, and that compare and merge text."""
