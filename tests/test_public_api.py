"""What the package promises to strangers: names, errors, types, quiet imports, the same answer in every process."""

import ast
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

import aquamend
from aquamend import errors
from aquamend.errors import AquaMendError
from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parent.parent
SOURCE = Path(inspect.getfile(aquamend)).parent
MODULES = sorted(
    module.name for module in pkgutil.walk_packages([str(SOURCE)], "aquamend.") if not module.name.endswith("__main__")
)
PACKAGES = ["aquamend", *(name for name in MODULES if (SOURCE.parent / name.replace(".", "/")).is_dir())]
CORE = ("belief", "decision", "files", "lint", "planning", "policies", "problem", "testing")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_a_package_exports_exists_and_is_sorted(package):
    module = importlib.import_module(package)
    exported = getattr(module, "__all__", [])
    assert len(set(exported)) == len(exported)
    assert all(hasattr(module, name) for name in exported)
    # Constants first, then classes, then functions, as isort has it.
    assert exported == sorted(exported, key=lambda name: (not name.isupper(), name[0].islower(), name))


def test_the_package_exports_all_that_its_front_page_imports():
    imported = {
        name for name, value in vars(aquamend).items() if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert imported == set(aquamend.__all__)


@pytest.mark.parametrize("name", aquamend.__all__)
def test_every_public_name_says_what_it_is(name):
    public = getattr(aquamend, name)
    doc = inspect.getdoc(public) or ""
    assert len(doc) > 10
    assert not doc.startswith(f"{name}("), "the dataclass wrote this docstring, not a person"


def test_all_that_a_policy_a_problem_or_a_robot_is_written_with_is_at_hand():
    names = "Step Policy Plan Cause Mixture Samples NewDeclaration Normal Uniform OneOf ValueOf joint_model "
    names += "price correction best_terminal"
    assert set(names.split()) <= set(aquamend.__all__)
    assert len(aquamend.__all__) < 50


def test_every_method_of_a_public_class_says_what_it_does():
    silent = []
    for name in aquamend.__all__:
        public = getattr(aquamend, name)
        if inspect.isclass(public):
            members = inspect.getmembers(public, lambda m: inspect.isfunction(m) or isinstance(m, property))
            silent += [f"{name}.{m}" for m, value in members if not m.startswith("_") and not inspect.getdoc(value)]
    assert silent == []


@pytest.mark.parametrize("module", MODULES)
def test_every_exception_class_of_the_package_has_the_one_base(module):
    for name, value in vars(importlib.import_module(module)).items():
        if inspect.isclass(value) and issubclass(value, BaseException) and value.__module__.startswith("aquamend"):
            assert issubclass(value, AquaMendError), name


def test_the_core_raises_nothing_but_its_own_errors_and_value_errors_for_bad_arguments():
    own = {name for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, AquaMendError)}
    allowed = own | {
        "ValueError",
        "PolicyFault",
        "RobotFault",
        "KeyError",  # what a mapping has to raise
        "SystemExit",
        "RuntimeError",
        "TimeoutError",
        "ConnectionError",
    }
    strangers = []
    for path in sorted(SOURCE.rglob("*.py")):
        if not path.relative_to(SOURCE).as_posix().startswith(CORE):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Raise) and node.exc is not None:
                raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                if isinstance(raised, ast.Name) and raised.id not in allowed:
                    strangers.append(f"{path.name}:{node.lineno} {raised.id}")
    assert strangers == []


def test_nothing_in_the_package_relies_on_assert_which_vanishes_under_optimisation():
    asserts = [
        f"{path.name}:{node.lineno}"
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Assert)
    ]
    assert asserts == []


def run(program, **environment):
    result = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
        env={**os.environ, **environment},
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_importing_loads_neither_scipy_nor_anything_of_the_command_line():
    heavy = run(
        "import sys, aquamend; print(*{m.split('.')[0] for m in sys.modules} & {'scipy', 'typer', 'rich', 'yaml'})"
    )
    assert heavy.split() == []


def test_importing_says_nothing_and_changes_no_setting_of_numpy():
    program = """
import numpy, warnings
before = numpy.geterr(), numpy.get_printoptions(), list(warnings.filters)
import aquamend
print(before == (numpy.geterr(), numpy.get_printoptions(), list(warnings.filters)))
"""
    assert run(program).split() == ["True"]


def test_a_discrete_decision_needs_no_scipy():
    program = """
import sys
from aquamend import AquaMend, InformationState
from aquamend.testing import sample_problems
AquaMend().next_step(InformationState.alarmed(sample_problems()[0]))
print('scipy' in sys.modules)
"""
    assert run(program).split() == ["False"]


DECISIONS = """
from aquamend import InformationState, Observation, Reprobe, evaluate, policy_named
from aquamend.decision.standings import standings
from aquamend.policies import POLICIES
from aquamend.testing import sample_problems
for problem in sample_problems():
    state = InformationState.alarmed(problem)
    print(state.posterior.tolist(), state.suspects, state.attribution)
    for name in [*POLICIES, 'lookahead-2']:
        if name != 'structured':
            policy = policy_named(name)
            print(name, policy.next_step(state), evaluate(policy, state))
    look = state.probe('look').channel.outcomes[-1]
    after = state.after(Observation('look', look))
    print(standings(after), after.posterior.tolist())
"""


def test_decisions_do_not_depend_on_the_hash_seed():
    outputs = {run(DECISIONS, PYTHONHASHSEED=seed) for seed in "013"}
    assert len(outputs) == 1
    assert "Reprobe" in outputs.pop()


def test_the_package_is_marked_as_typed():
    assert (files("aquamend") / "py.typed").is_file()


def test_the_version_is_the_one_of_the_distribution():
    from importlib.metadata import requires, version

    assert aquamend.__version__ == version("aquamend") == version("aquamend-lab")
    assert f"aquamend=={aquamend.__version__}" in requires("aquamend-lab")


def test_whoever_cites_or_reads_the_changelog_is_told_the_same_version():
    cited, changes = ((ROOT / name).read_text(encoding="utf-8") for name in ("CITATION.cff", "CHANGELOG.md"))
    assert f"\nversion: {aquamend.__version__}\n" in cited
    assert re.search(r"^## (\S+)", changes, re.MULTILINE)[1] == aquamend.__version__
