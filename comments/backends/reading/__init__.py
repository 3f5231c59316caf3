"""Read operations on one discussion, and across all discussions."""
