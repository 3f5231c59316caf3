"""The measurements that the docs quote. `make bench` runs all, `make bench ARGS=start` one, and `make soak` a long test."""
