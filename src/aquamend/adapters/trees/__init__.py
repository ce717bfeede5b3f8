"""Recovery inside a behaviour tree of py_trees: no tick waits, neither for a decision nor for the robot.

`RecoverBeliefs` is a recovery as a behaviour. `Tracked` keeps the tracker informed of a subtree that is an action;
`Guarded` also checks what it rests on before it runs. `Still` holds a subtree back until nothing moves any more that a
recovery has begun, and `BeliefsToBlackboard` shows what is believed.
"""

from aquamend.errors import MissingLibrary

try:
    import py_trees as _py_trees  # noqa: F401
except ImportError:
    raise MissingLibrary("py_trees", "trees", "or drive a Session in your own loop") from None

from aquamend.adapters.trees.hands import BeliefsToBlackboard
from aquamend.adapters.trees.recovering import Guarded, RecoverBeliefs, Still, Tracked

__all__ = ["BeliefsToBlackboard", "Guarded", "RecoverBeliefs", "Still", "Tracked"]
