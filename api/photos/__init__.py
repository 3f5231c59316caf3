"""Endpoints for downloading and uploading photo files. The metadata of photos, like that of all nodes, is in api/nodes.

files.py       endpoints that return photo files
uploading.py   endpoints that receive new photos and replacement files in a single request
resuming.py    endpoints for resumable uploads, which send a new photo in several pieces
incoming.py    functions that all uploads share, for permissions, ids, request bodies and errors
staged.py      storage for the pieces of resumable uploads until the photo is complete
permission.py  the view that tells nginx whether a client can upload photos
"""
