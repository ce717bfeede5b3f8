"""A problem in formats that other people's programs read."""
