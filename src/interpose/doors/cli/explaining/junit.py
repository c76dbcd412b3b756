"""Trials of a policy as a JUnit report, for CI servers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from xml.etree import ElementTree as ET

from interpose.doors.cli.explaining.verdict_text import visible
from interpose.rules.policy_trials.trials import Trial


def junit(trials: Sequence[Trial]) -> bytes:
    """The report: one suite a file. Characters that XML has no place for are spelled out."""
    root = ET.Element("testsuites", {"name": "interpose policy test", **_counts(trials)})
    for file in dict.fromkeys(trial.file for trial in trials):
        mine = [trial for trial in trials if trial.file == file]
        suite = ET.SubElement(root, "testsuite", {"name": visible(file), **_counts(mine)})
        for trial in mine:
            case = ET.SubElement(
                suite, "testcase", classname=visible(trial.rule or trial.kind), name=visible(trial.name),
                file=visible(trial.file), line=str(trial.line), time=f"{trial.seconds:.6f}",
            )  # fmt: skip
            match trial.status:
                case "failed":
                    ET.SubElement(
                        case, "failure", message=visible(trial.message)
                    ).text = f"{visible(trial.file)}:{trial.line}: {visible(trial.message)}"
                case "skipped":
                    ET.SubElement(case, "skipped", message=visible(trial.message))
                case "passed":
                    pass
    ET.indent(root)
    written: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def write_junit(file: str, trials: Sequence[Trial]) -> None:
    """Write the report whole: a CI server never sees a part of it. Raises OSError."""
    place = Path(file)
    with NamedTemporaryFile(dir=place.parent, prefix=f".{place.name}.", delete=False) as out:
        out.write(junit(trials))
    Path(out.name).chmod(0o666 & ~_umask())
    Path(out.name).replace(place)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _counts(trials: Sequence[Trial]) -> dict[str, str]:
    return {
        "tests": str(len(trials)),
        "failures": str(sum(trial.status == "failed" for trial in trials)),
        "skipped": str(sum(trial.status == "skipped" for trial in trials)),
        "time": f"{sum(trial.seconds for trial in trials):.6f}",
    }
