"""One scene of the pouring robot, run and described while it runs: what the demonstration shows."""
