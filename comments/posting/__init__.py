"""Posting and changing comments: forms, tokens, policies, spam rules, and authors' access to their own comments."""
