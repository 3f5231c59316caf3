"""Accounts: login, throttling of login attempts, and password resets."""
