"""The stored data of each release, and a test that this version upgrades and serves it."""
