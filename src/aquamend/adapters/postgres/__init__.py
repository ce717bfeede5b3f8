"""The sessions of a fleet in PostgreSQL: many robots, many programs, and one log, which has all that a journal has.

An event that ``append`` has returned from is on the server's disk. Two things keep two programs from driving one
session. Whoever conducts it has a lease, which runs out unless it is renewed; where it cannot be renewed, an act under
way is stopped before anybody else may conduct. And whatever is written needs the lease, and names the last event that
its writer knows: a program that was away for too long can write nothing, and so begins nothing.

A server that goes away is waited for. What was being written then is written again, unless it had arrived.
"""

from aquamend.errors import MissingLibrary

try:
    import psycopg as _psycopg  # noqa: F401
except ImportError:
    raise MissingLibrary("psycopg", "postgres", "or keep sessions in a Journal, a file on this machine") from None

from aquamend.adapters.postgres.fleet_log import PostgresLog

__all__ = ["PostgresLog"]
