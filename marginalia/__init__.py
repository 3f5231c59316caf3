"""The foundations of the site, and the comments app: what the wheel django-marginalia holds. None of it knows the site."""
