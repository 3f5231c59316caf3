"""Full-text search. Each module depends only on those before it.

- `languages`: function words, stemmers, and guessing the language of a text.
- `words`: splits text into words, and reduces words to terms.
- `index`: the terms that are stored with each node, and the queries that find nodes by their terms.
- `vocabulary`: all words on the site, for finding words with similar spelling.
- `query`: reads what a person typed, including quotes and operators.
- `ranking`: finds the nodes that match a query, best matches first.

The selectors in `nodes.selectors` decide whose results a user can see, and load them.
"""
