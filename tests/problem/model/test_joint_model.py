"""The joint model as arrays."""

import numpy as np
import pytest

from aquamend.errors import UnknownName
from aquamend.problem.model import Alarm, Cause, Discrete, Gaussian, Hypothesis, JointModel


def model(likelihood=None):
    return JointModel(
        [Hypothesis("ok", 0.75, cause="false_alarm"), Hypothesis("bad", 0.25, failed=("b2",))],
        {"look": Discrete(["y", "n"], likelihood or {"bad": [0.2, 0.8], "ok": [0.9, 0.1]})},
        Alarm({"bad": 0.5, "ok": 0.25}),
    )


def test_rows_named_in_any_order_end_up_in_hypothesis_order():
    np.testing.assert_array_equal(model().channels["look"].table, [[0.9, 0.1], [0.2, 0.8]])
    np.testing.assert_array_equal(model().alarm_likelihood, [0.25, 0.5])


def test_an_array_kernel_means_the_same_as_a_named_one():
    rows = np.array([[0.9, 0.1], [0.2, 0.8]])
    given = JointModel([Hypothesis("ok", 0.75), Hypothesis("bad", 0.25)], {"look": Discrete(["y", "n"], rows)})
    np.testing.assert_array_equal(given.channels["look"].table, model().channels["look"].table)
    channel = JointModel([Hypothesis("h", 1.0)], {"g": Gaussian(np.array([[3.0, 2.0]]))}).channels["g"]
    assert (channel.mean, channel.sd) == (3.0, 2.0)


def test_rounded_probabilities_are_normalised():
    thirds = JointModel([Hypothesis(str(i), 0.3333333) for i in range(3)])
    assert thirds.prior.sum() == pytest.approx(1, abs=1e-15)
    rows = model({"ok": [0.3333333, 0.6666666], "bad": [0.5, 0.5]}).channels["look"].table
    np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=0, atol=1e-15)


@pytest.mark.parametrize("array", ["prior", "alarm_likelihood"])
def test_arrays_cannot_be_written_to(array):
    with pytest.raises(ValueError, match="read-only"):
        getattr(model(), array)[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        model().channels["look"].table[0, 0] = 1.0


def test_hypotheses_are_marked_by_name():
    np.testing.assert_array_equal(model().among(["bad"]), [0, 1])
    np.testing.assert_array_equal(model().among([]), [0, 0])
    with pytest.raises(UnknownName, match=r"hypothesis 'worse'.*'ok', 'bad'"):
        model().among(["bad", "worse"])


def test_every_hypothesis_has_a_cause_and_an_unknown_one_by_default():
    assert [list(Cause)[i] for i in model().causes] == [Cause.FALSE_ALARM, Cause.UNKNOWN]
