"""The discrete pouring task as suites: standard, irreversible, stress, three diagnostics, ablations and sweeps."""
