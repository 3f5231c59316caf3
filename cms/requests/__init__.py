"""What every request meets: the gate, logs, error pages, uploads where none are taken."""
