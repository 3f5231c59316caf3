"""Endpoints for downloading and uploading photo files. The metadata of photos, like that of all nodes, is in api/nodes.

files.py      downloads of a photo's file
uploading.py  uploads of new photos and replacements, each in a single request
resuming.py   resumable uploads of new photos, in several pieces
incoming.py   shared functions for uploads: permissions, ids, request bodies, errors
staged.py     storage for the pieces until the photo is complete
permission.py tells nginx whether a client can upload photos
"""
