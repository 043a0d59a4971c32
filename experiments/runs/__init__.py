"""The one runtime of long work: folders, atomic files, checkpoints, progress, workers."""
