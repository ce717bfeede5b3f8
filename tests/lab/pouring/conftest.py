"""The alarm of the one demonstration that many tests look at."""

import pytest


@pytest.fixture(scope="session")
def alarmed():
    from tests.lab.pouring.scene_played import scene_played  # needs the simulator

    return scene_played()[3].alarmed


@pytest.fixture(scope="session")
def state(alarmed):
    return alarmed.state()


@pytest.fixture(scope="session")
def model(alarmed):
    return alarmed.template.model({"target": alarmed.tracker.value("target")})
