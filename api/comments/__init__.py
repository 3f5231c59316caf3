"""Discussions: what readers say under a page, a post or a photo.

    addresses.py   the router, what stands in addresses and headers, what is discussed there
    reading.py     pages of a discussion, threads, one comment, counts of many
    posting.py     posting, changing one's own, deleting it
    moderating.py  the queue, decisions, restoring
    presenting.py  comments as JSON, in the shapes of shapes.py
    refusals.py    what comments refuse, as problems

The rules are those of the forms: services and policy of the app `comments`, which knows nothing of the API.
"""
