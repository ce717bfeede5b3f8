"""AquaMend: how an embodied agent recovers when something it believed may no longer be true."""
