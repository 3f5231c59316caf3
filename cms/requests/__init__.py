"""Request handling: the gate, logs, metrics, error pages, stale pages, and the rejection of unexpected uploads."""
