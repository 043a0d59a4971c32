"""``qattn serve``: look at results and try models in the browser."""

from __future__ import annotations

import secrets
import socket
import sys
from pathlib import Path
from typing import Annotated

import typer

from experiments.cli.options import user_path
from experiments.errors import UserError


def serve(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FOLDER]...", parser=user_path, help="Result folders, or folders of them; runs."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0 takes a free one.")] = 8765,
) -> None:
    """Open a page on this machine that shows runs as they go on, reports, and trained models side by side.

    Nobody else can reach it: it listens on 127.0.0.1, and its address holds a random token. Ctrl-C ends it.

    Example: `qattn serve runs`
    """
    import uvicorn

    from experiments.workbench.app import create_app
    from experiments.workbench.workspace import Workspace

    workspace = Workspace(folders or [Path("runs")])
    listener = _listen(port)
    port = listener.getsockname()[1]
    token = secrets.token_urlsafe(24)
    hosts = frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost"))
    app = create_app(workspace, token, hosts)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", server_header=False))
    print(f"http://127.0.0.1:{port}/?token={token}")
    print("Ctrl-C ends it", file=sys.stderr, flush=True)
    sys.stdout.flush()
    server.run(sockets=[listener])


def _listen(port: int) -> socket.socket:
    """A socket on this machine alone. Raises :class:`UserError` where the port is taken."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise UserError(
            f"--port {port}: cannot be used ({error.strerror}); choose another one, or 0 for any"
        ) from error
    return listener
