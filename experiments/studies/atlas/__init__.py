"""The atlas: every claim of the three seed texts as an experiment with a figure, a number and a verdict."""
