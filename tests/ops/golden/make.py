"""Makes values.txt: what PyTorch computes for every sample of the op rows.

usage: make.py [PROGRAM]     (`./dev golden` calls it)

PROGRAM is the test program of the rows, which is built first if none is given. It writes its questions as one JSON
object a line: an expression, and its inputs as integer formulas. The expression is the row's C++ text, which is Python
but for braces and a few names. A result that PyTorch refuses is kept as `none` with its reason.
"""

import base64
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F

ROOT = pathlib.Path(__file__).resolve().parents[3]
VALUES = pathlib.Path(__file__).resolve().with_name("values.txt")
DTYPES = {"kBool": torch.bool, "kByte": torch.uint8, "kChar": torch.int8, "kShort": torch.int16, "kInt": torch.int32,
          "kLong": torch.int64, "kHalf": torch.float16, "kFloat": torch.float32, "kDouble": torch.float64,
          "kBFloat16": torch.bfloat16}
WEIGHT = {"a": 58, "m": 246, "c": 101, "d": 64}  # as gradient_weight() of tests/ops/golden.cpp


def dtype_name(dtype):
    return str(dtype).removeprefix("torch.")


def evaluate(formula, count, dtype):
    """Element i is ((i * a + b) mod m - c) / d, rounded down for integers."""
    a, b, m, c, d = formula
    numerators = torch.remainder(torch.arange(count, dtype=torch.int64) * a + b, m) - c
    if dtype.is_floating_point:
        return (numerators.double() / d).to(dtype)
    return torch.div(numerators, d, rounding_mode="floor").to(dtype)


def make_input(spec):
    if spec is None:
        return None
    dtype = getattr(torch, spec["dtype"])
    count = 1
    for size in spec["sizes"]:
        count *= size
    if "formula" in spec:
        flat = evaluate(spec["formula"], count, dtype)
    else:
        values = [float(v) for v in spec["values"]]
        flat = torch.tensor([values[i % len(values)] for i in range(count)], dtype=torch.float64).to(dtype)
    return flat.reshape(spec["sizes"])


def number(value, like):
    """A tensor that is promoted with `like` as the number itself would be."""
    return torch.full_like(like, value, dtype=torch.result_type(like, value), requires_grad=False)


def params(vector, gates, layers, directions, biases):
    """Those of a recurrent net of 3 inputs and 2 hidden units, as in rows_recurrent.cpp, cut from a vector."""
    shapes = []
    for i in range(layers * directions):
        shapes += [[gates * 2, 3 if i < directions else 2 * directions], [gates * 2, 2]]
        shapes += [[gates * 2], [gates * 2]] if biases else []
    parts = vector.split([torch.Size(shape).numel() for shape in shapes])
    return [part.reshape(shape) for part, shape in zip(parts, shapes)]


class Names(dict):
    """Names of an expression: inputs, C++ constants, then whatever PyTorch has."""

    def __init__(self, inputs):
        super().__init__(zip("xyzwv", inputs))
        self.update(DTYPES, true=True, false=False, nullopt=None, torch=torch, F=F, number=number, params=params)

    def __missing__(self, name):
        for module in (torch, F, torch.special, torch.linalg):
            if hasattr(module, name):
                return getattr(module, name)
        raise NameError(name)


def to_python(text):
    return re.sub(r"(\w)::(\w)", r"\1.\2", text.replace("{", "[").replace("}", "]"))


def flatten(result):
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, bool):
        return [torch.tensor(result)]
    if isinstance(result, int):
        return [torch.tensor(result, dtype=torch.int64)]
    if isinstance(result, float):
        return [torch.tensor(result, dtype=torch.float64)]
    return [t for part in result for t in flatten(part)]


def line(name, t):
    t = t.detach().resolve_conj().resolve_neg().contiguous()
    data = t.reshape(-1).view(torch.uint8).numpy().tobytes() if t.numel() else b""
    sizes = ",".join(map(str, t.shape)) or "-"
    return f"{name} {dtype_name(t.dtype)} {sizes} {base64.b64encode(data).decode()}".rstrip()


def weight(output, number):
    formula = (WEIGHT["a"], 20 + 6 * number, WEIGHT["m"], WEIGHT["c"], WEIGHT["d"])
    return evaluate(formula, output.numel(), output.dtype).reshape(output.shape)


def gradients(outputs, inputs, specs):
    """(number, gradient) of each input that takes part, of the outputs' sum under weight()."""
    used = [(o, weight(o, k)) for k, o in enumerate(outputs) if o.requires_grad]
    wanted = [(k, t) for k, (t, spec) in enumerate(zip(inputs, specs)) if t is not None and t.requires_grad]
    if not used or not wanted:
        return []
    grads = torch.autograd.grad([o for o, _ in used], [t for _, t in wanted], [w for _, w in used], allow_unused=True)
    return [(k, torch.zeros_like(t) if g is None else g) for (k, t), g in zip(wanted, grads)]


def answer(request):
    key, specs = request["key"], request["inputs"]
    inputs = [make_input(spec) for spec in specs]
    if request["grad"]:
        for t, spec in zip(inputs, specs):
            if t is not None and t.is_floating_point() and spec["grad"]:
                t.requires_grad_()
    try:
        outputs = flatten(eval(to_python(request["text"]), {}, Names(inputs)))
        lines = [line(f"{key}/out{k}", o) for k, o in enumerate(outputs)]
        if request["grad"]:
            lines += [line(f"{key}/grad{k}", g) for k, g in gradients(outputs, inputs, specs)]
        return lines
    except NameError:
        raise
    except (RuntimeError, NotImplementedError, IndexError, ValueError, TypeError) as error:
        reason = re.sub(r"\s+", " ", str(error))[:160]
        dtypes = {spec["dtype"] for spec in specs if spec}
        if dtypes & {"float32", "float64"} or not specs:
            print(f"golden: {key} {request['text']}: {reason}", file=sys.stderr)
        return [f"{key}/out0 none {reason}"]


def printed(requests):
    """The lines of tensors' texts: what libtorch writes to a stream, by a small C++ program."""
    package = pathlib.Path(torch.__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "print"
        subprocess.run(["g++", "-std=c++20", "-O0", f"-I{package}/include", pathlib.Path(__file__).with_name("print.cpp"),
                        f"-L{package}/lib", f"-Wl,-rpath,{package}/lib", "-Wl,--no-as-needed", "-ltorch", "-ltorch_cpu",
                        "-lc10", "-o", program], check=True)
        questions = []
        for request in requests:
            t = make_input(request["inputs"][0])
            values = [repr(float(v)) for v in t.reshape(-1).double()]
            questions.append(" ".join([dtype_name(t.dtype), str(t.dim()), *map(str, t.shape), *values]))
        answer = subprocess.run([program], input="\n".join(questions).encode(), capture_output=True, check=True).stdout
    for request in requests:
        length, _, answer = answer.partition(b"\n")
        text, answer = answer[:int(length)], answer[int(length):]
        yield f"{request['key']} text {base64.b64encode(text).decode()}"


def ask(program):
    """What the rows want to know."""
    with tempfile.NamedTemporaryFile("r") as file:
        environment = dict(os.environ, TARN_GOLDEN_REQUESTS=file.name)
        subprocess.run([program, "golden values*"], env=environment, stdout=subprocess.DEVNULL, check=True)
        return [json.loads(line) for line in file]


def main(program=None):
    if not program:
        subprocess.run([ROOT / "dev", "build", "release", "test_ops"], check=True)
        program = ROOT / "build/release/tests/test_ops"
    torch.manual_seed(0)
    torch.set_num_threads(1)
    requests = ask(program)
    lines = {line for request in requests if "print" not in request for line in answer(request)}
    lines.update(printed([request for request in requests if "print" in request]))
    VALUES.write_text("\n".join(sorted(lines)) + "\n")
    print(f"golden: {len(lines)} values by PyTorch {torch.__version__} in {VALUES.relative_to(ROOT)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
