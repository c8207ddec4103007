"""Which folder may include which, and where a backend's headers may appear."""

import re

from result import ROOT, Result, tracked

# A folder includes itself and what stands above it.
LAYERS = [
    {"core"},
    {"autograd"},
    {"nn", "optim", "compile"},
    {"data", "serialize", "distributed"},
    {"examples", "tests", "bench"},
]
RANK = {folder: rank for rank, folders in enumerate(LAYERS) for folder in folders}
UMBRELLA = len(LAYERS) - 2  # tarn.h and compat/ see every room, and only the last layer sees them

BACKENDS = re.compile(r"(Eigen/|unsupported/Eigen|eigen3/|oneapi/dnnl|dnnl|omp\.h|cuda|cudnn|cublas|nccl|nvrtc|gloo/)")
BACKEND_FILES = re.compile(r"(core/(cpu|cuda|cuda/device|emu|ops)/[^/]+\.(cpp|cu)|core/(cpu|cuda|cuda/device|emu)/[^/]+\.h|core/parallel\.cpp|"
                           r"compile/jit_.*\.cpp|distributed/.*\.cpp)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)')


def includes(name):
    for number, line in enumerate((ROOT / name).read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match[1], match[2]


def rank_of(path):
    return RANK.get(path.split("/")[0], UMBRELLA)


def direction():
    broken = []
    for name in tracked("*.h", "*.cpp", "*.cu", "*.def", "*.inc"):
        if name.split("/")[0] not in RANK:
            continue
        for number, quote, target in includes(name):
            if not target.startswith("tarn/") or target == "tarn/fwd.h":
                continue
            path = target.removeprefix("tarn/")
            if rank_of(path) > rank_of(name):
                broken.append(f"{name}:{number}: {name.split('/')[0]} must not include <{target}>")
    return Result("includes go one way: core <- autograd <- nn optim compile <- data serialize distributed <- examples",
                  broken)


def spelling():
    broken = []
    for name in tracked("*.h", "*.cpp", "*.cu"):
        own = {"tarn_config.h", "test_config.h", "op_signatures.h"}
        for number, quote, target in includes(name):
            if quote == '"' and target not in own and not name.startswith(("examples/", "tests/consumer/")):
                broken.append(f'{name}:{number}: write <tarn/...> instead of "{target}"')
    return Result("includes are spelled <tarn/folder/file.h>", broken)


def backends():
    broken = []
    for name in tracked("*.h", "*.cpp", "*.cu"):
        if BACKEND_FILES.match(name) or name.startswith(("tests/", "bench/")):
            continue
        for number, _, target in includes(name):
            if BACKENDS.match(target):
                broken.append(f"{name}:{number}: <{target}> belongs into core/cpu, core/cuda or core/ops")
    return Result("backend headers stay in the .cpp files of backends", broken)


def private_config():
    broken = [f"{name}:{number}: only .cpp files and core/cpu may include tarn_config.h"
              for name in tracked("*.h") if name != "core/fault.h" and not name.startswith("core/cpu/")
              for number, _, target in includes(name) if target == "tarn_config.h"]
    return Result("public headers do not depend on build options", broken)


CHECKS = [direction, spelling, backends, private_config]
