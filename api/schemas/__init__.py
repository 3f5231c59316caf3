"""What is promised of answers: shapes, made from the registry of content types where they are of nodes."""
