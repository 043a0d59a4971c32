"""Given vectors measured exactly: coherence, anisotropy, interference."""
