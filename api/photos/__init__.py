"""Photos' files: sent to who may see them, and taken in. What is said of a photo stands in api/nodes, as of every node.

files.py      the file that a photo shows
uploading.py  new photos, and another picture for one, by one request
resuming.py   new photos in pieces, which go on where they broke off
arriving.py   what all of these do: who may, under which id, and what goes wrong
staged.py     pieces until they make a photo
"""
