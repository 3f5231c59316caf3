"""What operators do: maintenance, conversion, transfer, erasing what is kept of an author."""
