"""Why the decision is what it is, for people and for programs."""
