import numpy as np
import pytest

pytest.importorskip("mujoco")

from tests.lab.pouring.mujoco.tables import OFFSETS_MM, hand_at, seeded, settled, spilled

from aquamend.errors import UnknownName
from aquamend_lab.pouring.mujoco.sensors import SensorFaults, level_g, lifted_g, positions_m, scale_g

TABLE = (12, 25, 40, 60)
OTHER = (0, 5, 33, 47)
NAMES = ("A", "B", "C", "pitcher")


@pytest.mark.parametrize("grams", [TABLE, OTHER])
@pytest.mark.parametrize("vessel", range(4))
def test_a_level_is_read_to_two_and_a_half_grams(grams: tuple[int, ...], vessel: int) -> None:
    read = level_g(settled(*grams), NAMES[vessel], rng=seeded())
    assert read == pytest.approx(grams[vessel], abs=2.5)


def test_the_same_seed_reads_the_same_level_whenever_asked() -> None:
    later = settled(*TABLE).branch()
    for _ in range(20):
        later.tick()
    assert level_g(later, "B", rng=seeded()) == level_g(settled(*TABLE), "B", rng=seeded())


def test_other_seeds_read_levels_about_half_a_gram_apart() -> None:
    rng = seeded()
    readings = [level_g(settled(*TABLE), "B", rng=rng) for _ in range(16)]
    assert 0.3 < np.std(np.array(readings, dtype=float)) < 0.9


def test_a_bias_shifts_the_level_of_its_cup_by_exactly_that() -> None:
    faults = SensorFaults(bias_g={"B": 8.0})
    sound = {cup: level_g(settled(*TABLE), cup, rng=seeded()) for cup in "AB"}
    read = {cup: level_g(settled(*TABLE), cup, rng=seeded(), faults=faults) for cup in "AB"}
    assert read["A"] == sound["A"]
    assert sound["B"] is not None
    assert read["B"] == pytest.approx(sound["B"] + 8.0, abs=1e-9)


def test_a_frozen_camera_reads_the_past_after_water_moved() -> None:
    before = settled(*TABLE)
    after = spilled(before, "B")
    frozen = SensorFaults(frozen=before)
    assert level_g(after, "B", rng=seeded()) == pytest.approx(0, abs=2.5)
    assert level_g(after, "B", rng=seeded(), faults=frozen) == level_g(before, "B", rng=seeded())
    assert positions_m(after, rng=seeded(), faults=frozen) == positions_m(before, rng=seeded())


def test_exchanged_cups_swap_their_levels_but_not_their_positions() -> None:
    table, faults = settled(*TABLE), SensorFaults(exchanged=("A", "C"))
    for asked, shown in (("A", "C"), ("C", "A"), ("B", "B")):
        assert level_g(table, asked, rng=seeded(), faults=faults) == level_g(table, shown, rng=seeded())
    assert positions_m(table, rng=seeded(), faults=faults) == positions_m(table, rng=seeded())


def test_a_hidden_cup_has_no_level_and_no_position() -> None:
    faults = SensorFaults(hidden=("B",))
    assert level_g(settled(*TABLE), "B", rng=seeded(), faults=faults) is None
    assert sorted(positions_m(settled(*TABLE), rng=seeded(), faults=faults)) == ["A", "C", "pitcher"]


def test_a_cup_under_the_palm_is_not_seen_and_its_neighbour_is() -> None:
    covered = hand_at(settled(*TABLE), 0.0, 0.125, 0.25)
    assert level_g(covered, "B", rng=seeded()) is None
    assert level_g(covered, "A", rng=seeded()) == pytest.approx(TABLE[0], abs=2.5)
    assert "B" not in positions_m(covered, rng=seeded())


def test_a_level_that_is_not_seen_uses_up_as_much_noise_as_one_that_is() -> None:
    seen, unseen = seeded(), seeded()
    level_g(settled(*TABLE), "B", rng=seen)
    level_g(settled(*TABLE), "B", rng=unseen, faults=SensorFaults(hidden=("B",)))
    assert seen.random() == unseen.random()


def test_asking_for_a_cup_that_does_not_exist_names_those_that_do() -> None:
    with pytest.raises(UnknownName, match="'A', 'B', 'C', 'pitcher'"):
        level_g(settled(*TABLE), "D", rng=seeded())


def test_positions_are_seen_to_six_millimetres() -> None:
    seen = positions_m(settled(*TABLE), rng=seeded())
    for place, (name, (dx, dy)) in enumerate(zip(NAMES, OFFSETS_MM, strict=True)):
        x = (-0.22, 0.0, 0.22, 0.46)[place] + dx / 1000
        assert np.hypot(seen[name][0] - x, seen[name][1] - dy / 1000) < 0.006


def test_the_error_of_a_position_is_about_two_millimetres() -> None:
    rng = seeded()
    seen = np.array([positions_m(settled(*TABLE), rng=rng)["B"] for _ in range(12)])
    assert 0.001 < np.hypot(*(seen - [0.0, 0.007]).T).mean() < 0.0035


@pytest.mark.parametrize("place", range(4))
def test_a_scale_without_noise_weighs_to_a_tenth_of_a_gram(place: int) -> None:
    assert scale_g(settled(*TABLE), place, rng=seeded(), sd_g=0.0) == pytest.approx(TABLE[place], abs=0.1)


def test_a_scale_that_is_off_is_off_by_exactly_that_each_time_and_the_others_are_not() -> None:
    faults = SensorFaults(scale_off_g={1: -7.5})
    for place, error in ((0, 0.0), (1, -7.5)):
        for seed in (1, 2):
            sound = scale_g(settled(*TABLE), place, rng=seeded(seed))
            assert scale_g(settled(*TABLE), place, rng=seeded(seed), faults=faults) == pytest.approx(sound + error)


def test_faults_say_whether_the_camera_is_sound() -> None:
    assert SensorFaults().camera_sound
    assert SensorFaults(scale_off_g={0: 6.0}).camera_sound
    assert SensorFaults(hidden=("A",)).camera_sound, "what is hidden is not misread"
    for faults in (
        SensorFaults(bias_g={"A": 6.0}),
        SensorFaults(exchanged=("A", "B")),
        SensorFaults(frozen=settled(*TABLE)),
    ):
        assert not faults.camera_sound


def test_a_scale_reads_tenths_with_the_noise_asked_for() -> None:
    rng = seeded()
    readings = np.array([scale_g(settled(*TABLE), 2, rng=rng, sd_g=2.0) for _ in range(200)])
    assert np.allclose(readings, readings.round(1))
    assert 1.6 < readings.std() < 2.4
    assert readings.mean() == pytest.approx(40, abs=0.5)


def test_nothing_hangs_on_an_empty_hand_at_rest() -> None:
    assert lifted_g(settled(*TABLE), rng=seeded(), sd_g=0.0) == pytest.approx(0, abs=0.01)


def test_the_braking_of_the_drive_is_not_taken_for_weight() -> None:
    moving = settled(*TABLE).branch()
    for _ in range(50):
        moving.hand[2] += 0.002
        moving.tick()
    force = moving.data.actuator_force[moving.compiled.model.actuator("gantry_z").id]
    assert 1000 * force / 9.81 > 500
    assert abs(lifted_g(moving, rng=seeded(), sd_g=0.0)) < 60


def test_what_the_hand_feels_at_one_tick_scatters_by_a_quarter_of_a_gram() -> None:
    rng = seeded()
    felt = [lifted_g(settled(*TABLE), rng=rng) for _ in range(200)]
    assert 0.2 < np.std(felt) < 0.3
