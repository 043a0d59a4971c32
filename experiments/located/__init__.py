"""YAML into strict models, every error with its place in the file. Knows nothing of language models."""
