"""Import of comments from other comment systems (`manage.py import_comments --from SYSTEM`).

records.py    a comment as another system stored it
sources/      one module for each system, which reads its export
staging.py    a temporary SQLite database, in which the comments are grouped by page and sorted
addresses.py  rules that convert the addresses of the old site, and the pages that they lead to
texts.py      conversion of texts to the Markdown of comments
importer.py   the dry run, and the import
"""
