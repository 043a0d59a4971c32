"""Running circuits: the fused state-vector engine, its naive twin, whole unitaries, PennyLane devices, readout."""
