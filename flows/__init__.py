"""When, and in what order. No parsing, no file formats."""
