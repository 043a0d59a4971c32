"""Annotations of tensor shapes are executed in the tests (jaxtyping + beartype), never in use."""

from __future__ import annotations

import os
import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a background job ignores Ctrl-C, and so would all it starts
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: several threads on small tensors are slower

from jaxtyping import install_import_hook

checked = ["qattn", "classical", "contexts", "experiments.tasks", "experiments.lm.evaluate", "experiments.lm.contract"]
hook = install_import_hook(checked, "beartype.beartype")

import hypothesis  # noqa: E402
import torch  # noqa: E402

hypothesis.settings.register_profile("untimed", deadline=None)  # a busy machine is no failure
hypothesis.settings.load_profile("untimed")
torch.set_num_threads(1)
