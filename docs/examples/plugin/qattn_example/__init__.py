"""A model, a task, an ansatz and a hypergraph of one's own; pyproject.toml declares them, and qattn knows them."""
