"""The laboratory's commands are run as the product's are."""

from tests.cli.conftest import cups, decided, lid, problem, process, run, run_on, write

__all__ = ["cups", "decided", "lid", "problem", "process", "run", "run_on", "write"]
