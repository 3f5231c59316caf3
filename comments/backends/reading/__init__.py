"""Read operations on a single discussion, and across all discussions."""
