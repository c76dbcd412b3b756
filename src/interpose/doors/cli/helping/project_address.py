"""Where the project is, as the metadata of the package says: one address, in pyproject.toml."""

from __future__ import annotations

from functools import cache


@cache
def project_addresses() -> dict[str, str]:
    """`Repository`, `Issues` and so on; none where there is no metadata."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        told = metadata("interpose").get_all("Project-URL") or []
    except PackageNotFoundError:
        return {}
    return {name.strip(): address.strip() for name, _, address in (each.partition(",") for each in told)}


def page_address(path: str) -> str:
    """Where a file of the repository can be read, as it is in this version; empty if that is not known."""
    from interpose import __version__

    repository = project_addresses().get("Repository", "")
    return f"{repository}/blob/v{__version__}/{path}" if repository else ""
