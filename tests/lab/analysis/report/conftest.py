"""Runs small enough to work out by hand; shared, so copy one before changing it."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from aquamend.policies import POLICIES
from aquamend_lab.analysis.charts import described_by, styles_in
from aquamend_lab.analysis.report.build import Analysed, analysed
from aquamend_lab.benchmarks.catalogue import SUITES
from aquamend_lab.benchmarks.manifest import styles_of
from aquamend_lab.records import Run


@pytest.fixture(autouse=True, scope="module")
def policies_describe_themselves() -> Iterator[None]:
    names = [(suite, [*POLICIES, *suite.policies]) for suite in SUITES.values()]
    with described_by(styles_in({"looks": styles_of(*each)} for each in names)):
        yield


def record(policy: str, scenario: int, loss: float | str | None, *, seed: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "suite": "m1-v2",
        "scenario": scenario,
        "seed": seed,
        "policy": policy,
        "group": {},
        "loss": loss,
        "success": 1.0,
        "expected_risk": loss,
        "probes": 1.0,
        "undone": 2.0,
        "ending": "roll_back",
        "steps": [f"p{scenario}: off", "roll back b1 (undo a1)"],
        **more,
    }


def losses(policy: str, values: Sequence[float | str | None], **more: Any) -> list[dict[str, Any]]:
    return [record(policy, scenario, value, **more) for scenario, value in enumerate(values)]


@pytest.fixture(scope="session")
def make() -> Callable[..., Run]:
    def make(
        *records: list[dict[str, Any]], suite: str = "m1-v2", annotations: Any = (), timings: Any = (), **manifest: Any
    ) -> Run:
        flat = [line | {"suite": suite} for lines in records for line in lines]
        described = {"format": "aquamend-run/1", "suite": suite, "policies": [lines[0]["policy"] for lines in records]}
        described |= {"scenarios": len({(line["seed"], line["scenario"]) for line in flat}), "seeds": 1}
        return Run(Path(f"/runs/{suite}"), described | manifest, flat, list(annotations), list(timings))

    return make


@pytest.fixture
def looked_at() -> Callable[[Run], Analysed]:
    return lambda run: analysed(run, title=run.suite, anchor="here")


@pytest.fixture(scope="session")
def m1(make: Callable[..., Run]) -> Run:
    """Four scenarios: an oracle, the best plan, AquaMend, its twin, and restarting."""
    truth = {"failed": ["b1"], "rollback": {"fine": ["a1"], "linear-chain": ["a1", "a2"]}, "attribution": "external"}
    truth |= {"rollback_cost": {"fine": 2.0, "linear-chain": 5.5}, "minimal_reprobe": ["p1"]}
    return make(
        losses("oracle", [1, 2, 3, 4], expected_risk=None),
        losses("exact", [2, 3, 4, 5]),
        losses("aquamend", [2, 3, 4, 7]),
        losses("all-candidates", [2, 3, 4, 7]),
        losses("restart", [10, 10, 10, 10], ending="restart"),
        annotations=[{"seed": 0, "scenario": 3, "truths": [truth]}],
        scenarios=4,
        seeds=1,
        description="Four graphs.",
    )


@pytest.fixture(scope="session")
def depth(make: Callable[..., Run]) -> Run:
    """Two sizes of M1-Depth."""

    def policy(name: str, at_three: list[float], at_four: list[float]) -> list[dict[str, Any]]:
        return [
            *(record(name, 0, value, seed=seed, group={"n": 3}) for seed, value in enumerate(at_three)),
            *(record(name, 1, value, seed=seed, group={"n": 4}) for seed, value in enumerate(at_four)),
        ]

    timings = [{"seed": 0, "scenario": 0, "policy": "exact", "decision_ms": 1.25, "peak_kib": 20.5}]
    return make(
        policy("aquamend", [3.5, 3.25], [4, 4]),
        policy("exact", [3.25, 3.25], [3.5, 3.5]),
        suite="m1-depth-v1",
        timings=timings,
    )


@pytest.fixture(scope="session")
def proxies(make: Callable[..., Run]) -> Run:
    """Three estimators on two states of two kinds; exact values 4 and 6."""

    def estimator(name: str, *estimates: float) -> list[dict[str, Any]]:
        return [
            {
                "scenario": number,
                "seed": 0,
                "policy": name,
                "group": {"mode": mode, "support": "small", "failed": "1.67"},
                "exact": 4.0 + 2.0 * (number % 2),
                "estimate": estimates[number],
                "disjoint": number % 2 == 0,
            }
            for number, mode in enumerate(["independent", "independent", "correlated", "correlated"])
        ]

    return make(
        estimator("independent", 4, 8, 4, 7),
        estimator("beam-32", 4, 6, 4, 6),
        estimator("monte-carlo-500", 4.1, 6, 4, 6.2),
        suite="m1-proxy-v2",
    )


@pytest.fixture(scope="session")
def stress(make: Callable[..., Run]) -> Run:
    """Sixteen episodes under two factors, acted out: nothing but realised losses."""

    def policy(name: str, loss: float, **more: Any) -> list[dict[str, Any]]:
        return [
            record(
                name,
                number,
                loss + number,
                group={"factor": ("common cause", "combined")[number % 2]},
                expected_risk=None,
                cause=("external", "self_error", "false_alarm")[number % 3],
                attributed=("external", "self_error", "external")[number % 3],
                false_alarm=number % 3 == 2,
                over_budget=(None, False)[number % 2],
                **more,
            )
            for number in range(16)
        ]

    return make(
        policy("oracle", 1.0),
        policy("aquamend", 2.0, ending="escalate"),
        policy("restart", 9.0),
        policy("blind-retry", 5.0),
        policy("no-reprobe", 3.0),
        suite="t4-stress-v3",
    )
