"""The pouring robot: three cups, a pitcher and a gripper in MuJoCo, and somebody who meddles."""
