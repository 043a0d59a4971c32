"""The workbench: ``qattn serve`` shows results, live runs and trained models in the browser, on this machine alone."""
