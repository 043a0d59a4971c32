"""The rooms of the workbench: what each page is asked by its URL, and the template that answers. All only read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import FastAPI, Query, Response
from fastapi.responses import HTMLResponse

from experiments.errors import UserError
from experiments.workbench import circuits_room, contexts_room, packing_room
from experiments.workbench.predictions import Sampling, expected, side_by_side
from experiments.workbench.training_curves import curves
from experiments.workbench.workspace import Workspace, different, pick

Page = Callable[..., Response]
MOST_MODELS = 4
Chosen = Annotated[list[str], Query()]
Fragment = Annotated[bool, Query()]


def runs(app: FastAPI, workspace: Workspace, page: Page) -> None:
    """Experiments with their curves while they run, and every report."""

    @app.get("/runs/{identifier}")
    def experiment_page(identifier: str, fragment: Fragment = False) -> Response:
        experiment = pick(workspace.experiments(), identifier, "experiment")
        return page(
            "curves" if fragment else "runs", title=experiment.name, experiment=experiment,
            report=(experiment.path / "report.html").is_file(), **curves(workspace.runs(experiment)),
        )  # fmt: skip

    @app.get("/report/{identifier}")
    def report_page(identifier: str) -> Response:
        found = pick(workspace.reports(), identifier, "report")
        return HTMLResponse((found.path / "report.html").read_text(encoding="utf-8"))


def models(app: FastAPI, workspace: Workspace, page: Page) -> None:
    """Trained models side by side on one prompt. Its page raises :class:`UserError` for more than it shows."""

    @app.get("/models")
    def models_page(
        model: Chosen = [],  # noqa: B006  (read, never written)
        prompt: str = "ROMEO:",
        temperature: Annotated[float, Query(ge=0, le=10, allow_inf_nan=False)] = 1.0,
        top_k: Annotated[int, Query(ge=0)] = 0,
        top_p: Annotated[float, Query(gt=0, le=1, allow_inf_nan=False)] = 1.0,
        fragment: Fragment = False,
    ) -> Response:
        present = workspace.models()
        chosen = model or [found.identifier for found in different(present)[:2]]
        if len(chosen) > MOST_MODELS:
            raise UserError(f"choose at most {MOST_MODELS} models, got {len(chosen)}")
        sampling = Sampling(temperature, top_k or None, None if top_p == 1 else top_p)
        answers: list[dict[str, Any]] = []
        problem, rows = "", []
        try:
            answers = [expected(workspace.model(each), prompt, sampling) for each in chosen]
            rows = side_by_side(answers) if answers else []
        except UserError as error:
            problem, answers = str(error), []
        state = {"model": chosen, "temperature": temperature, "top_k": top_k, "top_p": top_p}

        def link(text: str) -> str:
            return f"/models?{urlencode({**state, 'prompt': text}, doseq=True)}"

        return page(
            "predictions" if fragment else "models", title="Models", models=present, prompt=prompt, link=link,
            answers=answers, rows=rows, problem=problem, back=prompt[:-1], **(state | {"chosen": chosen}),
        )  # fmt: skip


def circuits(app: FastAPI, page: Page) -> None:
    """A circuit as text, drawn and simulated."""

    @app.get("/circuits")
    def circuits_page(circuit: str = circuits_room.EXAMPLE, fragment: Fragment = False) -> Response:
        shown, problem = None, ""
        try:
            shown = circuits_room.circuit(circuit)
        except UserError as error:
            problem = str(error)
        return page("circuit" if fragment else "circuits", title="Circuits", text=circuit, shown=shown, problem=problem)


def contexts(app: FastAPI, page: Page) -> None:
    """A hypergraph whose atoms one can force to a value."""
    from contexts.hypergraphs import library

    @app.get("/contexts")
    def contexts_page(
        name: str = "specker_bug", mmp: str = "", true: Chosen = [], false: Chosen = [],  # noqa: B006
        fragment: Fragment = False,
    ) -> Response:  # fmt: skip
        shown: dict[str, Any] = {}
        problem = ""
        try:
            h = contexts_room.hypergraph(name, mmp)
            shown = contexts_room.forced(h, true, false)
            shown |= {"atoms": h.vertices, "figure": contexts_room.picture(h, shown["state"])}
        except UserError as error:
            problem = str(error)

        def link(atom: str, value: str) -> str:
            """This view with one atom forced otherwise; an atom that has this value is let go."""
            now = {"true": [a for a in true if a != atom], "false": [a for a in false if a != atom]}
            if atom not in {"true": true, "false": false}[value]:
                now[value].append(atom)
            return f"/contexts?{urlencode({'name': name, 'mmp': mmp, **now}, doseq=True)}"

        return page(
            "hypergraph" if fragment else "contexts", title="Contexts", names=library.names(), name=name, mmp=mmp,
            held_true=true, held_false=false, shown=shown, problem=problem, link=link,
        )  # fmt: skip


def packings(app: FastAPI, page: Page) -> None:
    """Bounds and constructions at a dimension and a tolerance."""

    @app.get("/packing")
    def packing_page(
        d: Annotated[int, Query()] = 64,
        eps: Annotated[float, Query(gt=0, le=1, allow_inf_nan=False)] = 0.25,
        field: Literal["real", "complex"] = "real",
        fragment: Fragment = False,
    ) -> Response:
        shown, problem = None, ""
        try:
            shown = packing_room.capacity(d, eps, field)
        except UserError as error:
            problem = str(error)
        return page(
            "capacity" if fragment else "packing", title="Packing", d=d, eps=eps, field=field, shown=shown,
            problem=problem,
        )  # fmt: skip
