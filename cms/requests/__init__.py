"""Request handling: the gate, logs, metrics, error pages, stale pages, refusal of unexpected uploads."""
