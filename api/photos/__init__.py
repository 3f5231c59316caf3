"""Files of photos: downloads and uploads. The metadata of photos is in api/nodes, as for every node.

files.py      the file that a photo shows
uploading.py  new photos and replacements, each in a single request
resuming.py   new photos in pieces; an interrupted upload can be resumed
incoming.py   shared functions for uploads: permissions, ids, reading the body, errors
staged.py     storage of pieces until the photo is complete
permission.py whether a client can upload, for nginx
"""
