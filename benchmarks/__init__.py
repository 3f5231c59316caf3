"""The measurements that the docs quote. Run all with `make bench`, one with `make bench ARGS=start`.

`make soak` runs a long test.
"""
