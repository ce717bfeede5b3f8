"""Acting a recovery out: what a world is, the loop, receipts and scores."""
