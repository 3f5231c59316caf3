"""The admin site with the site's name, and its Dashboard."""
