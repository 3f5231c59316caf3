"""Posting and changing comments: forms, tokens, policies, spam rules, and what authors can do with their comments."""
