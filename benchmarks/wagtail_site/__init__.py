"""A minimal Wagtail site with our posts, which peers.py compares with our site. It has its own virtual environment."""
