"""What Tarn's headers cost the programs that include them."""

import pathlib
import re
import resource
import subprocess
import tempfile

from result import BUILD, ROOT, Result, run

COMPILE = ["g++", "-std=c++20", f"-I{BUILD}/include"]
LINES = {"tarn/core/tensor.h": 45_000, "tarn/tarn.h": 80_000}
HELLO_SECONDS = 2.5
HELLO = """
#include <iostream>
#include <tarn/tarn.h>
int main() { std::cout << tarn::ones({2, 3}) + 1 << std::endl; }
"""
FOREIGN = re.compile(r"/(eigen3|oneapi|dnnl[^/]*|omp\.h|cuda[^/]*|png[^/]*|zlib\.h|nlohmann|CLI|catch2)\b")


def preprocessed(header):
    def check():
        text = run(*COMPILE, "-E", "-x", "c++", "-", input=f"#include <{header}>\n")
        count = sum(1 for line in text.splitlines() if line.strip() and not line.startswith("#"))
        name = f"<{header}>: {count:,} of {LINES[header]:,} preprocessed lines"
        return Result(name, [f"{count - LINES[header]:,} lines too many"] if count > LINES[header] else [])
    return check


def hello_world():
    """Processor time of the best of three, so that a busy machine does not fail it."""
    def seconds():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(*COMPILE, "-O2", "-x", "c++", "-c", "-", "-o", "/dev/null", input=HELLO)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    best = min(seconds() for _ in range(3))
    name = f"hello world compiles in {best:.2f} s of {HELLO_SECONDS} s"
    return Result(name, [] if best < HELLO_SECONDS else ["see g++ -ftime-report"])


def dependencies():
    """No header of a library that Tarn uses inside is reached from the umbrella."""
    text = run(*COMPILE, "-M", "-x", "c++", "-", input="#include <tarn/tarn.h>\n")
    return Result("<tarn/tarn.h> reaches only std and Tarn", sorted({p for p in text.split() if "/include/tarn/" not in p and FOREIGN.search(p)}))


def self_contained():
    """Each installed header compiles alone. One without `#pragma once` is a fragment that another includes."""
    broken = []
    with tempfile.TemporaryDirectory() as folder:
        run("cmake", "--install", str(BUILD), "--prefix", folder)
        include = pathlib.Path(folder) / "include"
        headers = sorted(str(path.relative_to(include)) for path in include.rglob("*.h")
                         if "#pragma once" in path.read_text())
        for header in headers:
            done = subprocess.run(["g++", "-std=c++20", f"-I{include}", "-fsyntax-only", "-x", "c++", "-"],
                                  input=f"#include <{header}>\n", capture_output=True, text=True)
            if done.returncode:
                broken.append(f"{header}: {next(line for line in done.stderr.splitlines() if 'error' in line)}")
    return Result(f"each of the {len(headers)} installed headers compiles alone", broken)


CHECKS = [*map(preprocessed, LINES), hello_world, dependencies, self_contained]
