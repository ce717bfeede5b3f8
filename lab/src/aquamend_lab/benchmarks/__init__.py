"""Suites of recovery problems, and the runner that lets policies meet them."""
