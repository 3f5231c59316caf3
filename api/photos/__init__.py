"""Endpoints that download and upload photo files. As for every node, the metadata of photos is handled in api/nodes.

files.py      downloads of a photo's file
uploading.py  uploads of new photos and replacements, each in a single request
resuming.py   resumable uploads of new photos, in several pieces
incoming.py   shared functions for uploads: permissions, ids, request bodies, errors
staged.py     storage for the pieces until the photo is complete
permission.py tells nginx whether a client can upload photos
"""
