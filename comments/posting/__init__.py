"""Sending and changing comments: forms, tokens, policy, spam rules, what authors may do with their own."""
