"""Reads: pages of one discussion, and what is read of all of them."""
