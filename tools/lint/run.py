"""./dev lint: prints each rule as kept or broken and exits with 1 if one is broken. Needs the release build."""

import subprocess
import sys

import binaries
import headers
import includes
import sizes
from result import Result


def outcome(check):
    try:
        return check()
    except subprocess.CalledProcessError as error:
        lines = (error.stderr or "").splitlines()
        return Result(f"{check.__name__}: {' '.join(map(str, error.cmd[:4]))} failed", lines[:8] or ["no message"])


def main():
    broken = 0
    for check in [*includes.CHECKS, *sizes.CHECKS, *headers.CHECKS, *binaries.CHECKS]:
        result = outcome(check)
        broken += bool(result.broken)
        print(f"{'broken' if result.broken else 'kept  '}  {result.name}", flush=True)
        for line in result.broken[:40]:
            print(f"          {line[:200]}")
        if len(result.broken) > 40:
            print(f"          and {len(result.broken) - 40} more")
        for line in result.notes:
            print(f"          (long, allowed) {line}")
    print(f"lint: {broken} of the rules broken" if broken else "lint: all rules kept")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
