"""What the built objects and the library contain."""

import collections
import pathlib
import re
import subprocess
import tempfile

from result import BUILD, Result, run

LIBRARY_MB = 40
# Before a template's name stands its return type.
OURS = re.compile(r"((void|bool|int|long|unsigned long|float|double)[*&]? |(non-virtual thunk|virtual thunk) to |"
                  r"(vtable|typeinfo|typeinfo name|VTT|guard variable|TLS init function|TLS wrapper function|construction vtable) for "
                  r")?tarn::")


def objects(target):
    """The object files of one object library that are in libtarn.a; a folder may hold older ones."""
    inputs = run("ninja", "-C", str(BUILD), "-t", "inputs", "libtarn.a").split()
    return sorted(BUILD / name for name in inputs if f"{target}.dir/" in name and name.endswith(".o"))


def symbols(path, *options):
    """(kind letter, demangled name) of each symbol that a file defines."""
    for line in run("nm", "-C", "--defined-only", *options, str(path)).splitlines():
        match = re.match(r"[0-9a-f]* *([A-Za-z]) (.*)", line)
        if match:
            yield match[1], match[2]


def isa_objects():
    """A weak symbol outside tarn::<isa> could be the copy that the linker keeps for everybody."""
    broken, seen = [], 0
    for isa in ("generic", "v3", "v4"):
        own = re.compile(rf"tarn::(v1::)?(detail::)?{isa}::|tarn_eigen_{isa}::|^DW\.ref\.__gxx_personality_v0$")
        for path in objects(f"tarn_isa_{isa}"):
            seen += 1
            broken += [f"{path.name} ({isa}): {name}" for kind, name in symbols(path)
                       if kind in "WVu" and not own.search(name)]
    return Result(f"the {seen} kernel objects share no function with others", broken)


def exports():
    names = {name for kind, name in symbols(BUILD / "libtarn.so", "-D") if kind != "A"}
    broken = sorted(name for name in names if not OURS.match(name))
    return Result(f"libtarn.so exports {len(names):,} names, all of tarn::", broken)


def static_initialisers():
    """Linkers drop objects that only register themselves, and start-up work is not ours to do."""
    broken = [f"{path.name}: {name}" for folder in ("tarn_objects", "tarn_isa_generic") for path in objects(folder)
              for _, name in symbols(path) if name.startswith(("_GLOBAL__sub_I", "global constructors keyed"))]
    return Result("nothing runs before main", broken)


def library_size():
    with tempfile.TemporaryDirectory() as folder:
        stripped = pathlib.Path(folder) / "libtarn.so"
        subprocess.run(["strip", "-o", stripped, BUILD / "libtarn.so"], check=True)
        megabytes = stripped.stat().st_size / 1e6
    return Result(f"libtarn.so is {megabytes:.1f} of {LIBRARY_MB} MB, stripped",
                  [] if megabytes <= LIBRARY_MB else ["too large"])


def clashing_files():
    """Two kernel files with the same function would be an error only when both are linked."""
    owners = collections.defaultdict(set)
    for path in objects("tarn_isa_generic"):
        for kind, name in symbols(path):
            if kind in "TW":
                owners[name].add(path.name)
    return Result("no kernel is defined in two files", [f"{name}: {sorted(o)}" for name, o in owners.items() if len(o) > 1])


CHECKS = [isa_objects, clashing_files, exports, static_initialisers, library_size]
