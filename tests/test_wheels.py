"""Both packages are built, and the product does its work where the laboratory is not installed."""

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.outer

RECOVERY = """
import sys
from aquamend import load_problem
from aquamend.recovery import Journal, recover, resume
from aquamend.testing import FakeRobot

class Dies(BaseException):
    pass

class Mortal(FakeRobot):
    def measure(self, step):
        if len(self.did) == 1:
            raise Dies
        return super().measure(step)

problem = load_problem(sys.argv[1])
truth = problem.model.names[1]
with Journal("a.journal") as journal:
    try:
        recover("exact", Mortal(problem, truth=truth), journal=journal, session="one")
    except Dies:
        print("died")
with Journal("a.journal") as journal:
    recovery = resume(journal, "one", FakeRobot(problem, truth=truth))
print(recovery)
"""


@pytest.fixture(scope="module")
def product(tmp_path_factory):
    """Build both wheels, and unpack the product alone into a folder; return a function that runs Python with it."""
    built, alone = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("alone")
    for folder in (ROOT, ROOT / "lab"):
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(built)]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=PATIENCE_S)
    (wheel,) = built.glob("aquamend-*.whl")
    (lab,) = built.glob("aquamend_lab-*.whl")
    assert not any(name.startswith("aquamend/") for name in zipfile.ZipFile(lab).namelist())
    for each in (wheel, lab):
        licences = {Path(name).name for name in zipfile.ZipFile(each).namelist() if "/licenses/" in name}
        assert licences == {"LICENSE", "NOTICE"}, each
    zipfile.ZipFile(wheel).extractall(alone)
    libraries = sysconfig.get_paths()["purelib"]

    def run(*arguments: str, folder: Path) -> str:
        # Without `site` no path file is read, so neither package is found where it is being worked on.
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(alone), libraries])}
        done = subprocess.run(
            [sys.executable, "-S", *arguments], cwd=folder, env=environment, capture_output=True, text=True,
            timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_the_laboratory_is_not_there(product, tmp_path):
    found = product("-c", "import importlib.util as u; print(u.find_spec('aquamend_lab'))", folder=tmp_path)
    assert found.strip() == "None"


def test_the_product_alone_decides(product, tmp_path):
    said = product("-m", "aquamend", "decide", str(ROOT / "examples" / "pouring.yaml"), "--json", folder=tmp_path)
    assert json.loads(said)["step"]


def test_the_product_alone_recovers_and_goes_on_after_it_died(product, tmp_path):
    said = product("-c", RECOVERY, str(ROOT / "examples" / "stale_map.yaml"), folder=tmp_path)
    assert said.startswith("died")
    assert "finished" in said
