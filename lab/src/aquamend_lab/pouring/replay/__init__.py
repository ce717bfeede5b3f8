"""The 3-D replay of a pouring robot's recovery, and the file that keeps a recording."""
