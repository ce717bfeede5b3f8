import json

import pytest
from tests.adapters.problems import CUP
from tests.serve.running import started
from typer.testing import CliRunner

from aquamend.cli.main import app


@pytest.fixture
def run():
    """Run a command in this process; 80 columns and no colour."""
    return lambda *args: CliRunner(env={"COLUMNS": "80", "TERM": "dumb"}).invoke(app, list(args))


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    """Return a client of one running service, which keeps the problem ``cup`` and gives every question its time."""
    folder = tmp_path_factory.mktemp("service")
    (folder / "cup.json").write_text(json.dumps(CUP))
    with started("cup.json", "--seconds", "600", folder=folder) as client:
        yield client
