"""The atlas: claims of the three seed texts, each as an experiment with a figure, a number and a verdict."""
