"""The decoder-only transformer, equation by equation of the seed texts: the honest baseline."""
