"""Acting a recovery out: what a world is, the loop, and receipts for everything done."""

from aquamend.execution.episode import Episode, recover
from aquamend.execution.ledger import Ledger
from aquamend.execution.receipts import Charge, Receipt, charged
from aquamend.execution.world import Outcome, World

__all__ = ["Charge", "Episode", "Ledger", "Outcome", "Receipt", "World", "charged", "recover"]
