"""Start, watch and end local processes, including the embedded MongoDB.

The package imports neither Django nor other packages of the project.
"""
