"""Measurements that documents quote: `make bench` runs them, `make bench ARGS=start` one, `make soak` goes on for long."""
