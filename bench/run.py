"""Times Tarn beside PyTorch: run.py [NAME...] [--threads N] [--rounds N] [--seconds S].

A row NAME is bench/NAME.cpp and its twin bench/NAME.py, whose make() returns the step to time. The two run in turn,
each alone on the machine; the best step of all rounds counts. compiled_step prints figures of its own, each round.
"""

import argparse
import importlib
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
PROGRAM = HERE.parent / "build/release/bench/bench"
WARM_UP = 3


def rows():
    return sorted(p.stem for p in HERE.glob("*.py") if p.stem != "run")


def time_peer(name, threads, seconds):
    """The best time of one step; runs in a process of its own."""
    import torch

    torch.set_num_threads(threads)
    step = importlib.import_module(name).make()
    for _ in range(WARM_UP):
        step()
    best, begin = float("inf"), time.perf_counter()
    while time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        step()
        best = min(best, time.perf_counter() - start)
    return best


def output_of(*command):
    return subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True).stdout.split()


def run_compiled_step(threads, rounds, seconds):
    for _ in range(rounds):
        subprocess.run([PROGRAM, "compiled_step", str(threads), str(seconds)], check=True)
        peer = float(output_of(sys.executable, __file__, "--peer", "compiled_step", threads, seconds)[0])
        print(f"compiled_step PyTorch eager, best {peer * 1e3:9.3f} ms", flush=True)


def run_row(name, threads, rounds, seconds):
    if name == "compiled_step":
        run_compiled_step(threads, rounds, seconds)
        return
    tarn, peer = [], []
    for _ in range(rounds):
        best, items, item = output_of(PROGRAM, name, threads, seconds)
        tarn.append(float(best))
        peer.append(float(output_of(sys.executable, __file__, "--peer", name, threads, seconds)[0]))
    ours, theirs, items = min(tarn), min(peer), int(items)
    print(
        f"{name:20} {threads} threads  Tarn {ours * 1e3:9.3f} ms ({items / ours:9.0f} {item}/s)  "
        f"PyTorch {theirs * 1e3:9.3f} ms ({items / theirs:9.0f} {item}/s)  ratio {theirs / ours:.2f}",
        flush=True,
    )


def main():
    if sys.argv[1:2] == ["--peer"]:
        print(time_peer(sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(rows())}; all unless given")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5, help="a round of each side")
    options = parser.parse_args()
    for name in options.names or rows():
        if name not in rows():
            parser.error(f"there is no row {name}")
        run_row(name, options.threads, options.rounds, options.seconds)


if __name__ == "__main__":
    main()
