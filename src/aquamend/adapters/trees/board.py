"""What is believed, asked and answered, on the blackboard."""

from __future__ import annotations

from typing import Final

from py_trees.behaviour import Behaviour
from py_trees.blackboard import Client
from py_trees.common import Access, Status

from aquamend.recovery import Tracker

BELIEFS: Final = "/beliefs/"
"""Under it on the blackboard, the declaration in force of every belief: ``/beliefs/size.value``, ``.version``."""
ANSWERS: Final = "/answers/"
"""Under it, what the behaviour for a probe has found."""
QUESTION: Final = "/recovery/question"
"""What a person is asked, as a `Wait` with its token; None while nobody is."""


def board_key(place: str, name: str) -> str:
    """Return where something of this name stands."""
    return place + name.replace(".", "_")  # a dot would be an attribute


def client_of(owner: Behaviour, *keys: str) -> Client:
    """Return a client of a behaviour's own that may write these."""
    client = owner.attach_blackboard_client(owner.name)
    for key in keys:
        client.register_key(key, access=Access.WRITE)
    return client


class Board:
    """Writes what is believed to the blackboard; a belief that nobody has declared is in version 0."""

    def __init__(self, owner: Behaviour, tracker: Tracker) -> None:
        self._tracker = tracker
        self._keys = {belief.name: board_key(BELIEFS, belief.name) for belief in tracker.problem().graph.beliefs}
        self._client = client_of(owner, *self._keys.values())
        self.write()

    def write(self) -> None:
        """Write the declarations in force."""
        for belief, key in self._keys.items():
            self._client.set(key, self._tracker.declaration(belief))


class BeliefsToBlackboard(Behaviour):
    """Writes what is believed to the blackboard: for every belief the declaration in force. Always SUCCESS."""

    def __init__(self, name: str, tracker: Tracker) -> None:
        super().__init__(name)
        self.tracker = tracker
        self._board = Board(self, tracker)

    def update(self) -> Status:
        """Write them."""
        self._board.write()
        return Status.SUCCESS
