"""What a role takes from the roles above it. Ceilings add up; everything else is taken only where nothing is said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import UNSET

from interpose.core.types import FrozenDict, Mode
from interpose.rules.governance.files.file_model import CeilingForm, RoleForm
from interpose.rules.governance.files.rulebook import ROLE_KEYS, Role

_LISTS = ("allow", "deny", "ask", "note")


def parents_of(name: str, forms: Mapping[str, RoleForm]) -> tuple[str, ...]:
    """The roles above one, the nearest first; as far as they are there, and not around a circle."""
    found: list[str] = []
    at = forms[name].parent
    while at is not None and at in forms and at not in found and at != name:
        found.append(at)
        at = forms[at].parent
    return tuple(found)


def built_roles(forms: Mapping[str, RoleForm], place: Callable[..., str], mode: Mode) -> dict[str, Role]:
    """All roles. `place` says where a role's key was written; `mode` is that of the file.

    INVARIANT: the forms were checked: each parent is there, and no role is above itself.
    """
    built: dict[str, Role] = {}
    for name in sorted(forms, key=lambda name: len(parents_of(name, forms))):
        parent = forms[name].parent
        built[name] = _built(name, forms[name], built[parent] if parent is not None else None, place, mode)
    return {name: built[name] for name in forms}


def _built(name: str, form: RoleForm, above: Role | None, place: Callable[..., str], mode: Mode) -> Role:
    values: dict[str, Any] = {"mode": mode}
    places = {"": place(name)}
    for key in ROLE_KEYS:
        own = getattr(form, key)
        if own is not UNSET:
            values[key] = own
            places[key] = place(name, key)
            places |= {f"{key}.{part}": place(name, key, part) for part in _LISTS if key == "tools"}
        elif above is not None:
            values[key] = getattr(above, key)
            places |= {at: said for at, said in above.places.items() if at == key or at.startswith(f"{key}.")}
    ceilings: tuple[CeilingForm, ...] = above.ceilings if above is not None else ()
    ceiling_places: tuple[str, ...] = above.ceiling_places if above is not None else ()
    if form.ceiling is not UNSET:
        ceilings, ceiling_places = (form.ceiling, *ceilings), (place(name, "ceiling"), *ceiling_places)
    return Role(
        name=name, description=form.description, ceilings=ceilings, ceiling_places=ceiling_places,
        parents=(above.name, *above.parents) if above is not None else (),
        tier=form.tier if form.tier is not UNSET else above.tier + 1 if above is not None else 0,
        places=FrozenDict(places), **values,
    )  # fmt: skip
