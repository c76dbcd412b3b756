"""`/static/...`: the page's own files. They are read once, when the server starts."""

from __future__ import annotations

from importlib.resources import files

from interpose.doors.http_server.messages import Refusal, Request, Response, Route
from interpose.doors.page.frame import GUARDING

_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}


def routes() -> tuple[Route, ...]:
    """The one route. INVARIANT: a name is looked for among those that we have, and never in a directory."""
    served = {
        each.name: Response(
            200,
            each.read_bytes(),
            (("Content-Type", _TYPES[each.name.rpartition(".")[2]]), *GUARDING),
        )
        for each in files("interpose.doors.page").joinpath("static").iterdir()
        if each.name.rpartition(".")[2] in _TYPES
    }

    async def file(request: Request) -> Response:
        found = served.get(request.params["name"])
        if found is None:
            raise Refusal(404, "not_found", "there is no such file")
        return found

    return (Route("GET", "/static/{name}", file, "visitor", "A file of the page"),)
