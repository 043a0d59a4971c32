"""Annotations of tensor shapes are executed in the tests (jaxtyping + beartype), never in use."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: several threads on small tensors are slower

from jaxtyping import install_import_hook

hook = install_import_hook(["qattn", "classical", "contexts"], "beartype.beartype")

import torch  # noqa: E402

torch.set_num_threads(1)
