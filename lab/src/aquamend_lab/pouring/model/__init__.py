"""What the pouring robot thinks may be the matter, from public things and what calibration taught it."""
