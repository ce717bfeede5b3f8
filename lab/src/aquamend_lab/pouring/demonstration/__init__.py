"""One scene of the pouring robot, run and told while it runs: what the demonstration shows."""
