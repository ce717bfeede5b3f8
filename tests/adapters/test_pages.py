"""Extras: each page runs as it is printed and gets to a recovery in one screen, and the table of them is true."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import metadata

import pytest
from tests.adapters.alone import EXTRAS, PROJECT, ROOT, UV, run_alone
from tests.pages import BLOCK, DOCS, run_page
from tests.waiting import PATIENCE_S

PAGES = {
    "behaviour-trees.md": "trees", "gymnasium.md": "gym", "recordings.md": "recordings", "service.md": "serve",
    "agents.md": "mcp",
}  # fmt: skip
"""Page and extra."""
ALL = {**PAGES, "fleets.md": "postgres"}
"""Also those that need a server."""
USES = {
    "learn": """
from pathlib import Path
from pyarrow import parquet, table
from aquamend.learning.record_files import bytes_of, table_in
parquet.write_table(table({"truth": ["on", "off"]}), "records.parquet")
path = Path("records.parquet")
assert [str(row.cells["truth"]) for row in table_in(path, bytes_of(path)).rows] == ["on", "off"]
""",
    "networks": """
from pathlib import Path
from aquamend.networks.network import load_network
Path("one.bif").write_text(
    "network one {}\\nvariable lid { type discrete [ 2 ] { on, off }; }\\n"
    "probability ( lid ) { table 0.9, 0.1; }\\n"
)
assert load_network(Path("one.bif")).states["lid"] == ("on", "off")
""",
}
"""Code for extras that have no page of their own."""
MODULES = {"trees": "trees", "gym": "gym", "recordings": "recordings", "agents": "mcp", "postgres": "postgres"}
"""Adapter and extra."""
FLEET = ("--journal", "postgresql:///fleet")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page)


@pytest.mark.parametrize(("page", "extra"), ALL.items())
def test_a_page_gets_from_the_installation_to_a_recovery_in_one_screen(page, extra):
    text = (DOCS / page).read_text(encoding="utf-8")
    install = text.index(f"pip install 'aquamend[{extra}]'")
    first = next(block for block in BLOCK.finditer(text) if block[1] == "python")
    assert install < first.start()
    assert text[install : first.end()].count("\n") <= 62
    assert "finished" in text[first.start() : first.end() + 100]  # that is what it prints


def table():
    """Return extra, libraries with their versions, licences and page of every row."""
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \| (.*?) \|$", (DOCS / "extras.md").read_text(), re.MULTILINE)
    return {extra: (libraries, licences, page) for extra, libraries, licences, page in rows}


def test_the_table_names_every_extra_with_its_versions():
    assert list(table()) == list(EXTRAS)
    for extra, needs in EXTRAS.items():
        libraries, _, _ = table()[extra]
        assert re.findall(r"`([^`]+)`", libraries) == needs


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_table_names_the_licence_of_every_library(extra):
    for need, licence in zip(EXTRAS[extra], table()[extra][1].split(", "), strict=True):
        about = metadata(re.match(r"[\w-]+", need)[0])
        said = about.get("License-Expression") or about.get("License") or ""
        said += " ".join(line for line in about.get_all("Classifier") or () if line.startswith("License"))
        assert licence.removesuffix("-Clause").removesuffix("-only") in said


def test_whatever_says_what_to_install_names_an_extra_that_there_is():
    lab = tomllib.loads((ROOT / "lab" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {project["name"]: project["optional-dependencies"] for project in (PROJECT, lab)}
    said = [path.read_text(encoding="utf-8") for folder in ("src", "lab/src") for path in (ROOT / folder).rglob("*.py")]
    found = re.findall(r"raise MissingLibrary\(([^)]*)\)", "".join(said))
    assert len(found) > 10
    for arguments in found:
        library, extra, *rest = re.findall(r'"([^"]*)"', arguments)
        package = rest[-1] if "package=" in arguments else "aquamend"
        assert any(need.startswith(library) for need in extras[package][extra]), arguments


def test_nothing_is_imported_until_it_is_used():
    """Neither by the package, nor by the rooms that hold what extras need, nor by the program's help."""
    rooms = "aquamend, aquamend.adapters, aquamend.serve, aquamend.recovery, aquamend.story, aquamend.cli.main"
    code = f"import sys, {rooms}; from aquamend.cli.main import app, all_commands; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    names = {re.match(r"[\w-]+", need)[0].replace("-", "_") for needs in EXTRAS.values() for need in needs}
    names |= {"sklearn"}
    assert not names & set(done.stdout.split())


@pytest.mark.outer
@pytest.mark.parametrize(("page", "extra"), PAGES.items())
def test_an_extra_alone_beside_the_product_is_all_that_its_page_needs(page, extra, wheel, tmp_path):
    run_alone(extra, ["-m", "tests.pages", page], wheel, tmp_path)


@pytest.mark.outer
@pytest.mark.parametrize(("extra", "code"), USES.items())
def test_an_extra_alone_beside_the_product_does_what_it_is_for(extra, code, wheel, tmp_path):
    run_alone(extra, ["-c", code], wheel, tmp_path)


@pytest.mark.outer
def test_without_an_extra_everything_says_what_to_install(wheel, tmp_path):
    environment = tmp_path / "environment"
    python, program = environment / "bin" / "python", environment / "bin" / "aquamend"
    locked = ROOT / "requirements" / "runtime.txt"
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, environment], check=True, timeout=PATIENCE_S)
    command = [UV, "pip", "install", "--quiet", "--python", python, "--constraints", locked, wheel]
    subprocess.run(command, check=True, timeout=PATIENCE_S)
    for command, extra in (["serve"], "serve"), (["mcp"], "mcp"), (["session", "list", *FLEET], "postgres"):
        done = subprocess.run(
            [program, *command], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        assert (done.returncode, f"pip install 'aquamend[{extra}]'" in done.stderr) == (2, True), done.stderr
        assert not (tmp_path / "aquamend.journal").exists()
    for module, extra in MODULES.items():
        code = f"""
from aquamend.errors import MissingLibrary
try:
    import aquamend.adapters.{module}
except MissingLibrary as error:
    print(error)
"""
        said = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE_S)
        assert f"pip install 'aquamend[{extra}]'" in said.stdout
