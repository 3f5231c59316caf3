"""Discussions: comments by readers on a page, a post or a photo.

    parameters.py  the router, parameters in paths and headers, the object of a discussion
    reading.py     pages of a discussion, threads, one comment, counts for many nodes
    posting.py     posting a comment, changing and deleting one's own
    moderating.py  the queue, decisions, restoring
    presenting.py  comments as JSON, in the shapes of shapes.py
    refusals.py    errors of the comments app, as problems

The rules are the same as for forms. They are in the services and policies of the app `comments`, which does not depend
on the API.
"""
