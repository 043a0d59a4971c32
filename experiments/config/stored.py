"""Experiments and jobs as plain data: what a results folder keeps, and what tells one experiment from another."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import replace
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML

from experiments.config.jobs import Job, jobs
from experiments.config.models import MODELS
from experiments.config.resolve import Experiment
from experiments.config.schema import Training
from experiments.config.tasks import TASKS
from experiments.errors import UserError


def job_data(job: Job) -> dict[str, Any]:
    """A job as JSON-ready data; :func:`job_from` reads it back."""
    return {
        "task_name": job.task_name, "task": job.task.model_dump(mode="json"), "model_name": job.model_name,
        "model": job.model.model_dump(mode="json"), "training": job.training.model_dump(mode="json"), "seed": job.seed,
    }  # fmt: skip


def job_from(data: Any, source: object) -> Job:
    """The job that :func:`job_data` wrote; one sentence when the data is none."""
    try:
        return Job(
            data["task_name"], TASKS[data["task"]["kind"]].model_validate(data["task"]), data["model_name"],
            MODELS[data["model"]["kind"]].model_validate(data["model"]), Training.model_validate(data["training"]),
            int(data["seed"]),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, ValidationError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{source}: holds no run of this version of qattn ({reason}); train it again") from error


def experiment_identity(experiment: Experiment) -> str:
    """Twelve hexadecimal digits for what is compared: tasks and models with their names, and the training.

    More seeds are the same experiment; so are another report, other workers and another folder.
    """
    every = replace(experiment, seeds=(0,))
    content = sorted((job.task_name, job.model_name, job.identity()) for job in jobs(every))
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]


def smoke(experiment: Experiment) -> Experiment:
    """The same experiment with two steps and one seed: one batch through everything."""
    two = {"steps": 2, "evaluate_every": 2, "log_every": 1, "checkpoint_every": 1}
    return replace(experiment, training=experiment.training.model_copy(update=two), seeds=experiment.seeds[:1])


def to_yaml(data: Any) -> str:
    """Plain data as YAML text."""
    text = io.StringIO()
    yaml = YAML(typ="safe")
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.dump(data, text)
    return text.getvalue()
