"""Photos: their files and copies, their addresses, and how texts show them. Nodes' selectors read and services write them."""
