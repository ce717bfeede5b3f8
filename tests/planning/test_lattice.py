"""The evidence lattice: one cell for every combination of answers still possible."""

import math

import numpy as np

from aquamend.planning.exact import digit, lattice, n_digit_states


def test_a_probe_has_one_state_per_multiset_of_answers():
    assert len(digit(2, 3).counts) == math.comb(5, 2)
    assert len(digit(3, 2).counts) == math.comb(5, 3)
    assert len(digit(0, 1).counts) == 1


def test_every_cell_is_in_exactly_one_layer_and_children_are_one_layer_down():
    shape = lattice((2, 1, 0), (2, 1, 1), 99)
    cells = np.concatenate([layer.cells for layer in shape.layers])
    assert sorted(cells) == list(range(shape.n_cells))
    layer_of = {int(c): k for k, layer in enumerate(shape.layers) for c in layer.cells}
    for k, layer in enumerate(shape.layers):
        real = layer.children[layer.children < shape.n_cells]
        assert all(layer_of[int(c)] == k + 1 for c in real)


def test_the_states_of_a_probe_are_counted_as_they_are_listed_and_too_many_are_infinite():
    for n_open in range(4):
        for uses in range(5):
            assert n_digit_states(n_open, uses) == len(digit(n_open, uses).counts)
    assert n_digit_states(2, math.inf) == n_digit_states(3, 10**9) == math.inf


def test_the_likelihood_of_a_state_is_the_product_of_its_answers():
    rows = np.array([[0.9, 0.1], [0.2, 0.8]])
    states = digit(2, 2)
    for counts, likelihood in zip(states.counts, states.likelihood(rows), strict=True):
        np.testing.assert_allclose(likelihood, [a ** counts[0] * b ** counts[1] for a, b in rows])
