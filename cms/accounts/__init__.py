"""Accounts: login, throttling of login attempts, and forgotten passwords."""
