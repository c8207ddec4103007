"""Times data-parallel training of Tarn beside PyTorch's: run.py [--rounds N] [--steps N].

Two ranks with one thread each on one host. The sides run in turn, each alone on the machine; of all rounds the one
with the lowest median counts. A DDP step's exposed time is what it takes more than the same step on a single rank.
"""

import argparse
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
BUILD = HERE.parents[1] / "build/release"
SIDES = {"Tarn": [BUILD / "bench/bench_ranks"], "PyTorch": [sys.executable, HERE / "peer.py"]}


def median(side, what, steps):
    command = [*SIDES[side], what, steps]
    if what != "alone":
        command = [BUILD / "bin/tarn", "run", "--nproc", 2, *command]
    done = subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True)
    # "[0] median best": the rank is in front where there are several.
    return float(done.stdout.split("] ")[-1].split()[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    times = {}
    for _ in range(options.rounds):
        for what in ("alone", "ddp", "all_reduce"):
            for side in SIDES:
                seconds = median(side, what, options.steps)
                times[side, what] = min(seconds, times.get((side, what), seconds))
    for side in SIDES:
        times[side, "exposed"] = times[side, "ddp"] - times[side, "alone"]
    for what, text in (("alone", "ResNet-18 step, 1 rank"), ("ddp", "ResNet-18 step, 2 ranks"),
                       ("exposed", "of it exposed"), ("all_reduce", "all_reduce of 26 MB, 2 ranks")):
        ours, theirs = times["Tarn", what] * 1e3, times["PyTorch", what] * 1e3
        print(f"{text:30} Tarn {ours:8.2f} ms  PyTorch {theirs:8.2f} ms  Tarn / PyTorch {ours / theirs:.2f}", flush=True)


if __name__ == "__main__":
    main()
