"""Length of files and functions, and clang-format."""

import re
import subprocess

from result import ROOT, Result, tracked

FILE_LINES = 600
FUNCTION_LINES = 80
KERNEL_LINES = 120  # functions of core/cpu, core/cuda, core/ops

NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
SCOPE = re.compile(r"\b(namespace|class|struct|enum|union|extern)\b[^()]*$")


def blank(match):
    """Comments and literals become spaces, line breaks stay."""
    return re.sub(r"[^\n]", " ", match[0])


def functions(text):
    """(first line, length, head) of each function body that stands in a namespace or class."""
    code = NOT_CODE.sub(blank, text)
    code = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", blank, code, flags=re.M)
    stack, head_start = [], 0
    for position, char in enumerate(code):
        if char == "{":
            head = code[head_start:position].strip()
            inside = any(kind == "function" for kind, _, _ in stack)
            is_function = not inside and ")" in head and not SCOPE.search(head) and "= " not in head.split(")")[-1]
            first = code.count("\n", 0, head_start + len(code[head_start:position]) - len(code[head_start:position].lstrip())) + 1
            stack.append(("function" if is_function else "scope", first, " ".join(head.split())))
        elif char == "}" and stack:
            kind, first, head = stack.pop()
            if kind == "function":
                yield first, code.count("\n", 0, position) + 2 - first, head
        if char in "{};":
            head_start = position + 1


def files():
    broken = []
    for name in tracked("*.h", "*.cpp", "*.cu", "*.def", "*.inc", "*.py", "dev"):
        lines = (ROOT / name).read_text().count("\n")
        if lines > FILE_LINES:
            broken.append(f"{name}: {lines} lines")
    return Result(f"files have at most {FILE_LINES} lines", broken)


def function_lengths():
    broken, notes = [], []
    for name in tracked("*.h", "*.cpp"):
        kernels = name.startswith(("core/cpu/", "core/cuda/", "core/ops/"))
        for first, length, head in functions((ROOT / name).read_text()):
            if length > FUNCTION_LINES:
                places = broken if length > (KERNEL_LINES if kernels else FUNCTION_LINES) else notes
                places.append(f"{name}:{first}: {length} lines: {head[:70]}")
    return Result(f"functions have at most {FUNCTION_LINES} lines, kernels {KERNEL_LINES}", broken, notes)


def formatting():
    names = tracked("*.h", "*.cpp")
    done = subprocess.run(["clang-format", "--dry-run", *names], cwd=ROOT, capture_output=True, text=True)
    wrong = sorted({line.split(":")[0] for line in done.stderr.splitlines() if "clang-format-violations" in line})
    if done.returncode != 0 and not wrong:
        wrong = done.stderr.splitlines()[:5]
    return Result("clang-format finds nothing to change (./dev fmt does it)", wrong)


CHECKS = [files, function_lengths, formatting]
