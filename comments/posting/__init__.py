"""Posting and changing comments: forms, tokens, policy, spam rules, and what authors can do with their own comments."""
