"""The measurements quoted in the docs. `make bench` runs all, `make bench ARGS=start` one, `make soak` a long test."""
