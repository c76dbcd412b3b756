"""What is worth knowing about an effect before a rule looks at it: its traits, as words."""

from __future__ import annotations

from interpose.core.types import Effect
from interpose.effects.paths import Place, is_credential, is_guarded, place_of, secret_of

_PATH_KINDS = frozenset({"fs.read", "fs.write", "fs.delete", "fs.permission"})

_OS_TREES = tuple(
    f"{tree}/"
    for tree in (
        "/etc",
        "/bin", "/boot", "/efi", "/lib", "/lib32", "/lib64", "/sbin", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64",
        "/System", "/proc", "/sys", "C:/Windows",
    )
)  # fmt: skip
_VITAL_FILES = frozenset(
    f"/etc/{name}"
    for name in (
        "passwd", "shadow", "group", "gshadow", "sudoers", "fstab", "ld.so.preload", "pam.conf", "nsswitch.conf",
    )
)  # fmt: skip
_PACKAGE_LISTS = ("/var/lib/apt/lists/", "/var/cache/apt/", "/var/cache/yum/", "/var/cache/dnf/", "/var/cache/apk/")
"""What package managers fetch again; images are made smaller by leaving it out."""
_VITAL_DIRECTORIES = ("/etc/sudoers.d/", "/etc/pam.d/")

_MADE_AGAIN_NAMES = """
    node_modules bower_components jspm_packages build dist out target obj coverage htmlcov __pycache__ _build .next
    .nuxt .output .turbo .cache .parcel-cache .svelte-kit .angular .vite .astro .docusaurus .expo .webpack
    .pytest_cache .mypy_cache .ruff_cache .hypothesis .tox .nox .eggs .ipynb_checkpoints .nyc_output venv .venv
    site-packages .gradle .terraform .serverless .aws-sam cdk.out DerivedData .build storybook-static tmp temp .tmp
    .temp logs log cache .sass-cache .eslintcache .stylelintcache .pnpm-store test-results playwright-report .dart_tool
    elm-stuff zig-cache zig-out .zig-cache .stack-work dist-newstyle _site .jekyll-cache .vercel .netlify .wrangler
    CMakeFiles CMakeCache.txt .coverage .DS_Store package-lock.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb
    npm-shrinkwrap.json poetry.lock uv.lock Pipfile.lock pdm.lock composer.lock Gemfile.lock Cargo.lock mix.lock
"""
_MADE_AGAIN = frozenset(_MADE_AGAIN_NAMES.split())
"""What a build, a test run or an install makes again, with all that lies in it. Names below the workspace."""
_LEFTOVERS = (
    ".pyc", ".pyo", ".o", ".obj", ".class", ".log", ".tmp", ".swp", ".swo", ".egg-info", ".tsbuildinfo", ".gcda",
    ".bak", ".orig", ".rej", ".out", "~",
)  # fmt: skip
_SEARCHES = frozenset({"find", "fd", "fdfind", "gfind"})
_ELSEWHERE = frozenset(
    {"ssh", "autossh", "mosh", "parallel-ssh", "pssh", "pdsh", "ansible", "vagrant", "gcloud", "aws"}
)
_OTHER_MACHINES = _ELSEWHERE | {"docker", "podman", "nerdctl", "kubectl", "oc", "lxc", "incus", "docker-compose"}
_SOCKETS = ("/dev/tcp/", "/dev/udp/")
_OWN_SOCKETS = tuple(f"{kind}{host}/" for kind in _SOCKETS for host in ("localhost", "127.0.0.1", "0", "::1"))
_HOME_CACHES = ("/.cache", "/.npm", "/Library/Caches")
_IN_HOME_CACHES = (
    *(f"{cache}/" for cache in _HOME_CACHES),
    *(f"/{place}/" for place in (
        ".gradle/caches", ".m2/repository", ".cargo/registry", "go/pkg/mod", ".nuget/packages", ".yarn/cache",
        ".yarn/berry/cache", ".bun/install/cache", ".pnpm-store", ".local/share/pnpm/store", ".ivy2/cache",
        "Library/Developer/Xcode/DerivedData", ".ccache", ".pub-cache",
    )),
)  # fmt: skip
"""What tools keep in a home to be faster, and fetch again."""


def traits_of(effect: Effect, cwd: str, home: str, workspace: str) -> set[str]:
    """All traits of an effect."""
    details = effect.details
    traits = {name for name, value in details.items() if value} if details else set()
    if effect.kind in _PATH_KINDS:
        # On another machine nothing is the project, and nothing there is made again by a build here.
        here = workspace if "ssh" not in effect.via else ""
        _add_path_traits(traits, effect.resource, cwd, home, here)
        if effect.kind in ("fs.write", "fs.delete"):
            inside = "at:in-workspace" in traits
            mark = secret_of(effect.resource, home, inside)
            if is_guarded(mark, inside=inside or "touched" in traits, reading=False):
                traits.add("keeps-secrets")
        elif effect.kind == "fs.read" and here and "at:in-workspace" not in traits and _is_shipped(effect, home):
            traits.add("keeps-secrets")
        if effect.kind == "fs.permission":
            mode = details.get("mode")
            if isinstance(mode, str):
                _add_mode_traits(traits, mode)
        if effect.via:
            _add_way_traits(traits, effect.via)
    elif effect.kind == "secret.read":
        if _is_swept(effect) and is_credential(effect.resource, home, workspace):
            traits |= {"swept", "credential"}
    elif effect.kind == "net.upload" and _is_raw_socket(effect.resource):
        traits.add("raw")
    elif effect.kind == "opaque":
        traits.add(f"beyond:{details.get('rule')}")
    if "strength" in details:
        traits.add(_strength(effect, details["strength"], cwd, home, workspace))
    return traits


def _is_shipped(effect: Effect, home: str) -> bool:
    """Whether a file is excused by its name alone, as what tests and packages ship is, and not where it lies."""
    path = effect.resource
    return secret_of(path, home) is None and secret_of(path, home, inside=False) is not None


def _strength(effect: Effect, said: str, cwd: str, home: str, workspace: str) -> str:
    """How surely a secret is read from a file, as file tools judge it. Accounts of another machine or a container say
    nothing about who works here."""
    path = effect.resource
    if path[:1] != "/" or any(way.partition(" ")[0] in _OTHER_MACHINES for way in effect.via):
        return said
    inside = place_of(path, cwd=cwd, home=home, workspace=workspace) is Place.IN_WORKSPACE
    mark = secret_of(path, home, inside)
    if mark is None or mark.strength == said:
        return "soft" if said == "faint" and not inside else said
    return mark.strength


def _is_swept(effect: Effect) -> bool:
    """Whether what is read was not named: a pattern, a whole directory, or what a search found."""
    details = effect.details
    if details.get("matched") or details.get("kept"):
        return False
    return (
        bool(details.get("recursive"))
        or "*" in effect.resource
        or "?" in effect.resource
        or any(wrapper.partition(" ")[0] in _SEARCHES for wrapper in effect.via)
    )


def _is_raw_socket(resource: str) -> bool:
    return resource.startswith(_SOCKETS) and not resource.startswith(_OWN_SOCKETS)


def _add_way_traits(traits: set[str], via: tuple[str, ...]) -> None:
    """What the wrappers tell: files that a search found, or a path on another machine."""
    for wrapper in via:
        name = wrapper.partition(" ")[0]
        if name in _SEARCHES and "glob" in traits:
            traits.add("swept")
        elif name in _ELSEWHERE:
            # Names say nothing about what can be made again on a machine that is not ours.
            traits -= {"artefact", "leftover"}
            if "at:in-workspace" in traits or "at:workspace" in traits:
                traits -= {"at:in-workspace", "at:workspace", "above"}
                traits.add("at:elsewhere")


def _add_path_traits(traits: set[str], path: str, cwd: str, home: str, workspace: str) -> None:
    place = place_of(path, cwd=cwd, home=home, workspace=workspace)
    traits.add(f"at:{place.value}")
    if path.startswith(_PACKAGE_LISTS):
        traits.add("recoverable")
    if path in _VITAL_FILES or path.startswith(_VITAL_DIRECTORIES):
        traits.add("vital")
    if path.startswith(_OS_TREES):
        traits.add("os")
    if workspace.startswith(path.rstrip("/") + "/"):
        traits.add("above")
    if path.endswith("_history") and place in (Place.IN_HOME, Place.HOME_TOP):
        traits.add("history")
    if "/.git/hooks/" in path:
        traits.add("hooks")
    if "*" in path or "?" in path:
        traits.add("glob")
    if place is Place.IN_WORKSPACE:
        names = path[len(workspace) + 1 :].split("/")
        if not _MADE_AGAIN.isdisjoint(names):
            traits.add("artefact")
        elif names[-1].endswith(_LEFTOVERS):
            traits.add("leftover")
    elif path.startswith(home):
        inside = path[len(home) :]
        if inside.removesuffix("/*") in _HOME_CACHES:
            traits.add("cache")
        elif f"{inside}/".startswith(_IN_HOME_CACHES):
            traits.add("artefact")


def _add_mode_traits(traits: set[str], mode: str) -> None:
    """`open`: everyone may write; `locked`: nobody may do anything; `setuid`: runs with its owner's rights."""
    digits = mode.lstrip("0")
    if mode.isdigit():
        if not digits:
            traits.add("locked")
        elif digits[-1] in "2367":
            traits.add("open")
        if len(digits) == 4 and digits[0] in "24567":
            traits.add("setuid")
        return
    for clause in mode.split(","):
        for sign in "+=":
            who, found, rights = clause.partition(sign)
            if not found:
                continue
            if "w" in rights and ("o" in who or "a" in who):
                traits.add("open")
            if "s" in rights:
                traits.add("setuid")
