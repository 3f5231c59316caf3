"""Endpoints for pages, posts and sections.

reading.py     endpoints that read nodes
listing.py     functions that list nodes
presenting.py  conversion of nodes to JSON
writing.py     endpoints that change nodes
operations.py  functions that translate requests into actions (nodes/actions/)
bulk.py        the endpoint for many changes in one request
patches.py     conversion of request bodies to fields, keyed by path
"""
