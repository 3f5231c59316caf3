"""Emails about comments, and the subscriptions to them."""
