import math

import numpy as np
import pytest

from aquamend.decision import probe_values
from aquamend.decision.steps import Continue, RollBack
from aquamend.explanation.answers import answers_to, interval_labels, split_of
from aquamend.model.kernels import NormalTable


def test_each_outcome_has_its_chance_and_the_decision_after_it(lid_state):
    yes, no = answers_to(probe_values(lid_state()), "look")
    assert (yes.label, yes.stop.decision) == ("yes", Continue())
    assert (yes.probability, yes.stop.loss) == (pytest.approx(0.62), pytest.approx(0.8 / 0.62))
    assert (no.label, no.stop.decision) == ("no", RollBack(("lid",), ("lift",)))
    assert (no.probability, no.stop.loss) == (pytest.approx(0.38), pytest.approx(3.0))


def test_the_three_parts_of_a_probe_add_up_to_its_expected_loss(lid_state, gaussian_state, many_state):
    for state in (lid_state(), gaussian_state, many_state):
        values = probe_values(state)
        for probe, loss in zip(values.branches.probes, values.expected_loss, strict=True):
            assert split_of(values, probe).total == pytest.approx(loss, rel=1e-9)


def test_readings_with_the_same_decision_are_one_answer(gaussian_state):
    values = probe_values(gaussian_state)
    low, high = answers_to(values, "look")
    # Rolling back pays once q · 10 > 3, so at the reading x with (2/3) exp(2x - 2) = 3/7.
    cut = 1.0 + 0.5 * math.log(9 / 14)
    assert low.label == f"below {cut:.1f}"
    assert high.label == f"above {cut:.1f}"
    assert (low.stop.decision, high.stop.decision) == (Continue(), RollBack(("lid",), ("lift",)))
    assert low.probability + high.probability == pytest.approx(1.0)
    below = [0.5 * math.erfc(-(cut - mean) / math.sqrt(2)) for mean in (0.0, 2.0)]
    assert low.probability == pytest.approx(0.6 * below[0] + 0.4 * below[1])


def test_intervals_are_named_as_finely_as_the_sensor_measures():
    coarse = NormalTable(np.zeros(2), np.array([15.0, 20.0]))
    fine = NormalTable(np.zeros(2), np.array([0.01, 20.0]))
    assert interval_labels(np.array([149.93, 160.0]), coarse) == ("below 150", "150 to 160", "above 160")
    assert interval_labels(np.array([149.93]), fine) == ("below 149.930", "above 149.930")
    assert interval_labels(np.array([]), fine) == ("any reading",)
