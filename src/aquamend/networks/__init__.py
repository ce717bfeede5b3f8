"""Bayesian networks that somebody else wrote, made into recovery problems by their causes."""

from aquamend.networks.network import Network, load_network
from aquamend.networks.network_problem import Imported, Roles, imported, read_roles, suggested

__all__ = ["Imported", "Network", "Roles", "imported", "load_network", "read_roles", "suggested"]
