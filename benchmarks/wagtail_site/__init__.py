"""A minimal Wagtail site with our posts, with which peers.py compares. It has its own virtual environment."""
