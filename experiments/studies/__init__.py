"""Studies of circuits, packings and word senses: thin, each configured, run, judged and reported."""
