"""From matrices and trained models to gates, and from circuits to files and pictures."""
