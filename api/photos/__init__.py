"""Files of photos: downloads and uploads. The metadata of a photo is in api/nodes, as for every node.

files.py      the file that a photo shows
uploading.py  new photos and replacements, each in a single request
resuming.py   new photos in pieces; an interrupted upload can be resumed
incoming.py   what all uploads share: permissions, ids, reading the body, errors
staged.py     storage of pieces until the photo is complete
permission.py whether a client can upload, for nginx
"""
