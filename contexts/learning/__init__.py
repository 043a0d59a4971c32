"""Learned contexts: bases that share vectors, trained on word senses."""
