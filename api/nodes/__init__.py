"""Pages, posts and sections.

reading.py      who may see what; listing.py: lists; presenting.py: nodes as JSON
writing.py      the operations that change nodes; operations.py: what each of them asks and calls; bulk.py: many by
                    one request
patches.py      JSON as fields by path, and back; refusals.py: what services refuse, as problems, with merges
"""
