"""Start, monitor and stop local processes, including the embedded MongoDB.

The package imports neither Django nor the project's other packages.
"""
