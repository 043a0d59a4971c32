"""Orthogonality hypergraphs with their rays: read, written, named and drawn."""
