"""Photos: uploads and files. What is known of a photo is answered by /nodes, as of any node."""
