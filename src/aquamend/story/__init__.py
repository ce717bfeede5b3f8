"""Telling one recovery: the story as plain data, the page that shows it, and the replay in three dimensions."""
