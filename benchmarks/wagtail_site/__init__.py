"""The least site of Wagtail that holds our posts: what peers.py compares with, in a virtual environment of its own."""
