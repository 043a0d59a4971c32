"""Language models whose states evolve by unitaries alone and are read once by the Born rule; and parametrized quantum circuits."""
