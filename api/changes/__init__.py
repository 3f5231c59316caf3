"""What changed since: one list of all changes, in order, for mirrors and caches."""
