"""Emails about comments, and subscriptions to these emails."""
