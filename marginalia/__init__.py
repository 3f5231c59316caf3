"""The package of the wheel django-marginalia, with the foundations and the comments app.

It imports nothing of the site.
"""
