"""Packings by optimisation, with certificates."""
