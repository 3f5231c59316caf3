"""Request handling: the gate, logs, metrics, error pages, stale pages, and refusal of unexpected uploads."""
