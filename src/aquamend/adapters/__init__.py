"""Recovery in the stacks people use: one file for each, thin, around the session; each needs an extra of its own.

Importing this package imports none of them. `aquamend.adapters.trees` is for behaviour trees, `gym` for environments,
`agents` for agents with tools, `recordings` for MCAP files, `postgres` for the sessions of a fleet.
"""
