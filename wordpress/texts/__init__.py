"""Conversion of posts and comments: from WordPress's HTML and shortcodes to this site's HTML and Markdown."""
