"""Pages, posts and sections.

reading.py      endpoints that read nodes; listing.py: lists; presenting.py: nodes as JSON
writing.py      endpoints that change nodes; operations.py: the actions (nodes/actions/) that they call; bulk.py: many
                changes in one request
patches.py      converts bodies to fields by path
"""
