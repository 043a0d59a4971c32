"""Packings at the terminal: reading vectors, the capacity study with its figures, and interference in use."""
