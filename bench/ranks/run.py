"""Times data-parallel training of Tarn beside PyTorch's: run.py [--rounds N] [--steps N].

Two ranks with one thread each on one host. The sides run in turn, each alone on the machine; of all rounds the lowest
median counts, and in brackets the best step. A DDP step's exposed time is what it takes more than the same step on two ranks that train
each for itself, which have the same two cores and the same memory to share.
"""

import argparse
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
BUILD = HERE.parents[1] / "build/release"
SIDES = {"Tarn": [BUILD / "bench/bench_ranks"], "PyTorch": [sys.executable, HERE / "peer.py"]}


def time(side, what, steps):
    """Median and best."""
    command = [*SIDES[side], what, steps]
    if what != "alone":
        command = [BUILD / "bin/tarn", "run", "--nproc", 2, *command]
    done = subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True)
    # "[0] median best": the rank is in front where there are several.
    return tuple(map(float, done.stdout.split("] ")[-1].split()))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    times = {}
    for _ in range(options.rounds):
        for what in ("alone", "apart", "ddp", "all_reduce"):
            for side in SIDES:
                new = time(side, what, options.steps)
                times[side, what] = tuple(map(min, new, times.get((side, what), new)))
    for side in SIDES:
        times[side, "exposed"] = tuple(a - b for a, b in zip(times[side, "ddp"], times[side, "apart"]))
    for what, text in (("alone", "ResNet-18 step, 1 rank"), ("apart", "2 ranks, each for itself"), ("ddp", "2 ranks, DDP"),
                       ("exposed", "of it exposed"), ("all_reduce", "all_reduce of 26 MB, 2 ranks")):
        (ours, our_best), (theirs, their_best) = times["Tarn", what], times["PyTorch", what]
        print(f"{text:28} Tarn {ours * 1e3:7.2f} ms ({our_best * 1e3:7.2f})  PyTorch {theirs * 1e3:7.2f} ms "
              f"({their_best * 1e3:7.2f})  Tarn / PyTorch {ours / theirs:.2f} ({our_best / their_best:.2f})", flush=True)


if __name__ == "__main__":
    main()
