"""Bounds from both sides: coherence of n lines, and how many lines fit at a coherence."""
