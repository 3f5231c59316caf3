"""Pure functions on text: Markdown to clean HTML, HTML to text, differences, and three-way merges."""
