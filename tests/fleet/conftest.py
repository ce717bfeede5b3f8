import pytest
from tests.adapters.problems import cup_problem
from tests.cli.conftest import run
from tests.fleet.server import Server, needed

from aquamend.adapters.postgres import PostgresLog
from aquamend.belief import InformationState
from aquamend.recovery import Rules

__all__ = ["run"]

ALONE = Rules(ask_before_irreversible=False, ask_before_handing_over=False)


@pytest.fixture(scope="session")
def server():
    needed()
    server = Server()
    yield server
    server.remove()


@pytest.fixture
def address(server):
    """The address of a database in which nobody has kept a session yet."""
    server.ask("DROP SCHEMA IF EXISTS aquamend CASCADE")
    return server.address


@pytest.fixture
def fleet(address):
    """Return a maker of logs, one for each program that there would be; they are closed at the end."""
    made = []

    def make(*, lease_s=30.0, address=address, **options):
        made.append(PostgresLog(address, lease_s=lease_s, **options))
        return made[-1]

    yield make
    for log in made:
        log.close()


@pytest.fixture(scope="session")
def state():
    return InformationState.alarmed(cup_problem())
