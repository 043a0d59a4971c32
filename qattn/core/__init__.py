"""States, unitaries and measurements: the physics that every model and circuit here is made of."""
