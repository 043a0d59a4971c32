"""Training and comparing language models: builders, the training loop, evaluation, search, audit, records."""
