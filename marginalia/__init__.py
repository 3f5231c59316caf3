"""The package of the wheel django-marginalia: the foundations and the comments app. Nothing here imports the site."""
