"""The admin site with the site's name, and the Dashboard."""
