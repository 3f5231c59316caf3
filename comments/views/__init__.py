"""What readers and authors are answered; moderators work in the admin."""
