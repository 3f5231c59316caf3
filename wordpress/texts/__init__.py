"""The texts of an export: WordPress's HTML and shortcodes as the HTML and Markdown of this site."""
