"""Mails about comments, and the subscriptions that they follow."""
