"""The pouring task with physics: a hand, vessels, beads of water, a camera and scales, simulated by MuJoCo."""
