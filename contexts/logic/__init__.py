"""What follows from a hypergraph: two-valued states, graph bounds, contextuality, representations, commutation."""
