"""Endpoints for discussions: readers' comments on a page, a post or a photo.

    parameters.py  the router, the path and header parameters, and a function that loads the discussed node
    reading.py     endpoints that return discussions, threads, single comments, and comment counts
    posting.py     endpoints that post comments, and that change and delete your own comments
    moderating.py  endpoints that list the moderation queue, and that approve, reject and restore comments
    banning.py     endpoints that list, add and lift bans
    searching.py   endpoints that search comments, and that make and undo decisions about many comments
    presenting.py  conversion of comments to JSON, using the schemas in shapes.py
    refusals.py    conversion of errors from the comments app to problems

The rules for comments are the same as for comment forms. The rules are defined in the services and policies of the
`comments` app, which doesn't depend on the API.
"""
