"""The pages of the workbench, and what keeps them to the one person at this machine.

Every request needs the token that the terminal printed (once in the URL, then as a cookie), names this machine as its
host, and only reads: there is no request that writes. Pages load nothing from elsewhere, by their
Content-Security-Policy.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from experiments import report
from experiments.errors import UserError
from experiments.workbench import rooms
from experiments.workbench.workspace import Workspace

HERE = Path(__file__).parent
COOKIE = "qattn_token"
POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "style-src 'self' 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def create_app(workspace: Workspace, token: str, hosts: frozenset[str]) -> FastAPI:
    """The application; ``hosts`` are the values of the Host header that are this machine."""
    app = FastAPI(title="qattn workbench", docs_url=None, redoc_url=None, openapi_url=None)
    jinja = Environment(loader=FileSystemLoader(HERE / "templates"), autoescape=True, undefined=StrictUndefined)

    def page(template: str, status: int = 200, **values: Any) -> HTMLResponse:
        return HTMLResponse(jinja.get_template(f"{template}.html").render(**values), status)

    def refused(sentence: str, status: int) -> HTMLResponse:
        return page("sentence", status, title="qattn", sentence=sentence)

    @app.middleware("http")
    async def guard(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        response = _guarded(request, token, hosts, refused)
        if response is None:
            try:
                response = await call_next(request)
            except UserError as error:
                response = refused(str(error), 400)
        response.headers.update(HEADERS)
        return response

    @app.exception_handler(UserError)
    async def bad_input(request: Request, error: UserError) -> Response:
        return refused(str(error), 400)

    @app.exception_handler(RequestValidationError)
    async def bad_query(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        return refused(f"{'.'.join(map(str, first['loc'][1:]))}: {first['msg'].lower()}, got {first['input']!r}", 400)

    style = (Path(report.__file__).parent / "style.css").read_bytes()

    @app.get("/style.css")
    def report_style() -> Response:
        return Response(style, media_type="text/css")

    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")
    rooms.runs(app, workspace, page)
    rooms.models(app, workspace, page)
    rooms.circuits(app, page)
    rooms.contexts(app, page)
    rooms.packings(app, page)

    @app.get("/")
    def home() -> Response:
        return page(
            "home", title="qattn", experiments=workspace.experiments(), models=workspace.models(),
            reports=workspace.reports(),
        )  # fmt: skip

    return app


def _guarded(
    request: Request, token: str, hosts: frozenset[str], refused: Callable[[str, int], Response]
) -> Response | None:
    """The answer to a request that may not pass; None where it may."""
    if request.headers.get("host") not in hosts:
        return refused("this address is not the one that qattn serve printed; use that one", 400)
    if request.method not in ("GET", "HEAD"):
        return refused("the workbench only reads", 405)
    given = request.query_params.get("token")
    if given is not None and secrets.compare_digest(given.encode(), token.encode()):
        rest = [(key, value) for key, value in request.query_params.multi_items() if key != "token"]
        response = RedirectResponse(request.url.path + (f"?{urlencode(rest)}" if rest else ""), 303)
        response.set_cookie(COOKIE, token, httponly=True, samesite="strict")
        return response
    if not secrets.compare_digest(request.cookies.get(COOKIE, "").encode(), token.encode()):
        return refused("open the address that qattn serve printed, with its token", 403)
    return None
