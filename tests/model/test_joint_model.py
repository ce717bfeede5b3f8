"""The joint model as arrays."""

import numpy as np
import pytest

from aquamend.model import Alarm, Declaration, Discrete, Gaussian, Hypothesis, JointModel


def model(likelihood=None):
    return JointModel(
        [Hypothesis("ok", 0.75), Hypothesis("bad", 0.25, failed=("b2",))],
        {"look": Discrete(["y", "n"], likelihood or {"bad": [0.2, 0.8], "ok": [0.9, 0.1]})},
        Alarm({"bad": 0.5, "ok": 0.25}),
    )


def test_rows_named_in_any_order_end_up_in_hypothesis_order():
    np.testing.assert_array_equal(model().tables["look"].likelihood, [[0.9, 0.1], [0.2, 0.8]])
    np.testing.assert_array_equal(model().alarm_likelihood, [0.25, 0.5])


def test_an_array_kernel_means_the_same_as_a_named_one():
    rows = np.array([[0.9, 0.1], [0.2, 0.8]])
    given = JointModel([Hypothesis("ok", 0.75), Hypothesis("bad", 0.25)], {"look": Discrete(["y", "n"], rows)})
    np.testing.assert_array_equal(given.tables["look"].likelihood, model().tables["look"].likelihood)
    table = JointModel([Hypothesis("h", 1.0)], {"g": Gaussian(np.array([[3.0, 2.0]]))}).tables["g"]
    assert (table.mean, table.sd) == (3.0, 2.0)


def test_rounded_probabilities_are_normalised():
    thirds = JointModel([Hypothesis(str(i), 0.3333333) for i in range(3)])
    assert thirds.prior.sum() == pytest.approx(1, abs=1e-15)
    rows = model({"ok": [0.3333333, 0.6666666], "bad": [0.5, 0.5]}).tables["look"].likelihood
    np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=0, atol=1e-15)


@pytest.mark.parametrize("array", ["prior", "alarm_likelihood"])
def test_arrays_cannot_be_written_to(array):
    with pytest.raises(ValueError, match="read-only"):
        getattr(model(), array)[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        model().tables["look"].likelihood[0, 0] = 1.0


def test_the_failure_matrix_has_a_row_a_hypothesis_and_a_column_a_belief():
    np.testing.assert_array_equal(model().failure_matrix({"b1": 0, "b2": 1}), [[0, 0], [0, 1]])


def test_a_declaration_is_invalid_exactly_where_it_says():
    np.testing.assert_array_equal(model().invalidity(Declaration("d", "b1", invalid_in=("bad",))), [0, 1])
    np.testing.assert_array_equal(model().invalidity(Declaration("d", "b1")), [0, 0])
