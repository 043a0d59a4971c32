"""Explicit packings and the catalogue of all that are known here."""
