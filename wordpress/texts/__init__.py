"""Conversion of texts from WordPress's HTML and shortcodes to this site's HTML and Markdown."""
