"""Endpoints for discussions: readers' comments on a page, a post or a photo.

    parameters.py  the router, path and header parameters, the object that a discussion is about
    reading.py     pages of a discussion, threads, one comment, counts for many nodes
    posting.py     posting comments, and changing and deleting your own comments
    moderating.py  the queue, decisions, restoring
    presenting.py  conversion of comments to JSON, in the schemas of shapes.py
    refusals.py    conversion of errors from the comments app to problems

The rules for comments are the same as in forms. They are defined in the services and policies of the `comments` app,
which does not depend on the API.
"""
