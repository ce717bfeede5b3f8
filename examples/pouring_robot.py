"""The pouring robot: one alarm, two robots branched from it, two policies, two ledgers."""

from aquamend import policy_named
from aquamend.recovery import Charge, charged, recovered
from aquamend_lab.pouring.mujoco.episode import Episode, until_alarm
from aquamend_lab.pouring.mujoco.simulation import Placed, TableScene
from aquamend_lab.pouring.mujoco.trouble import SwapCups
from aquamend_lab.pouring.mujoco.world import PouringRobot
from aquamend_lab.pouring.task import Stage

# Who stands on which place, with how many grams of water. Once the pitcher is beside A, somebody swaps A and B.
table = TableScene((Placed("A", 0, 18), Placed("B", 1, 29), Placed("C", 2, 36), Placed("pitcher", 3, 60)))
alarmed = until_alarm(Episode(table, Stage.BESIDE, SwapCups("A", "B"), seed=(1,)))
print(f"declared: {alarmed.declared.target} is the least full; alarm: {alarmed.report}")

for name in ("aquamend", "restart"):
    # A branch: both policies meet the same table, bit for bit. Starting over is an ending for who does nothing else.
    robot = PouringRobot(alarmed.posed(restarts=name == "restart"))
    found = recovered(policy_named(name), robot)
    print(f"\n{name}: {'recovered' if found.verdict.success else 'not recovered'} for {found.loss:.1f} s")
    for receipt in (leaf for act in found.receipts for leaf in act.leaves if leaf.cost > 0):
        print(f"  {receipt.charge:12} {receipt.what:22} {receipt.cost:5.1f}")
    print("  in all: " + ", ".join(f"{charge} {charged(found.receipts, charge):.1f}" for charge in Charge))
