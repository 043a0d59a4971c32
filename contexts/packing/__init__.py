"""Quasi-orthogonal packings: bounds, constructions, optimisation, measurement."""
