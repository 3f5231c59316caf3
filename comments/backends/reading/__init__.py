"""Reads of one discussion, and reads across all discussions."""
