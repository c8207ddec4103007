"""What a check says: one line, kept or broken, and the places that break it."""

import dataclasses
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"


@dataclasses.dataclass
class Result:
    name: str
    broken: list  # one line for each place; empty when kept
    notes: list = dataclasses.field(default_factory=list)  # worth a look, but nothing is broken


def run(*command, **options):
    """Standard output of a command that must succeed."""
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT, **options).stdout


def tracked(*patterns):
    """Files of the tree that match, committed or not, as paths relative to the root."""
    names = run("git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns).splitlines()
    return sorted(name for name in set(names) if (ROOT / name).exists())
