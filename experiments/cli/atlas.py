"""``qattn atlas``: claims of the seed texts, each as an experiment with a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.cli.options import (
    FreshOption,
    JsonOption,
    OutOption,
    ResumeOption,
    SetOption,
    check_resume,
    print_json,
)
from experiments.errors import UserError

atlas = typer.Typer(help="Claims of the papers, each as an experiment with a verdict.", no_args_is_help=True)


@atlas.command("list")
def list_entries(as_json: JsonOption = False) -> None:
    """List the entries: name, claim and where it stands.

    Example: `qattn atlas list`
    """
    from experiments.studies.atlas.atlas_file import load_entry, shipped_entries

    entries = [load_entry(name) for name in shipped_entries()]
    rows = [{"name": name, "claim": e.claim, "sources": [str(s) for s in e.sources]} for name, e in entries]
    if as_json:
        print_json(rows)
        return
    width = max(len(name) for name, _ in entries)
    for name, entry in entries:
        print(f"{name:<{width}}  {entry.claim}")


@atlas.command()
def run(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Entries (qattn atlas list).")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Run every shipped entry.")] = False,
    overrides: SetOption = [],  # noqa: B006
    out: OutOption = None,
    resume: ResumeOption = False,
    fresh: FreshOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run entries and write the page with a row for each; what is done is kept, so a stopped run resumes.

    Example: `qattn atlas run token_autoencoder`, `qattn atlas run --all`
    """
    from experiments.studies.atlas.atlas_file import load_entry, shipped_entries
    from experiments.studies.atlas.atlas_run import run_entry, write_page

    check_resume(resume, fresh)
    if everything == bool(names):
        raise UserError("atlas run: expected names of entries or --all, got " + ("both" if names else "neither"))
    if overrides and (everything or len(names or ()) > 1):
        raise UserError("--set: expected one entry beside it, whose keys it changes")
    folder = out or Path("runs", "atlas")
    entries = [load_entry(name, overrides) for name in names or shipped_entries()]
    results = []
    for name, entry in entries:
        results.append(result := run_entry(name, entry, folder, fresh=fresh, quiet=as_json))
        if not as_json:
            print(f"{name}: {result['verdict']}. {result['sentence']}", flush=True)
    page = write_page(folder)
    if as_json:
        print_json(results)
        return
    print(f"report: {page}")
