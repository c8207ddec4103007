"""Makes fuzz_views.txt.gz: random programs of views and writes under autograd, with what PyTorch does.

Needs torch. fuzz_views_test.cpp reads the file (or $TARN_FUZZ_FILE) and runs the programs on Tarn.

Tensors live in registers, numbered as they are made; all are float64. One instruction a line; `n` before it: under
no_grad; `E` before all: PyTorch refuses it, and the state stays as it was.
  P seed                          a program begins
  L formula rg d0 d1 ...          a leaf of sizes d; rg 1: requires grad
  V select r dim i | narrow r dim start length | slice r dim start end step | transpose r a b | permute r d...
    view r d... | reshape r d... | expand r d... | diagonal r offset | unsqueeze r dim | squeeze r dim
  S r size dim                    split: one register per piece
  U name r                        a function of one tensor          B name r s    of two
  C r / D r                       clone / detach
  I name r                        r.name_()                         J name r s    r.name_(s)
  F r value / Z r                 r.fill_(value) / r.zero_()
  M r formula                     r.masked_fill_(mask, 0.5)
  X r i s                         r.index_put_({i}, s): row i
  T r                             r.detach_()                       Q r           r.requires_grad_()
  R r                             r.retain_grad()                   H r factor    hook: grad * factor
  K keep r ...                    backward(r...) with gradients by formula, retain_graph = keep
  G r ... / l ...                 grad(r..., l..., create_graph, allow_unused), then grad of those again
`e` instead of `E`: Tarn may or may not refuse it too.
and what is found at the end, after the last instruction:
  = r digest rg grad              of each register; grad is a digest, or - if it has none, or ? if a backward failed
  g digest|- ... / digest|- ...   of G: first and second gradients
"""
import argparse
import gzip
import itertools
import os
import warnings

import torch

torch.set_default_dtype(torch.float64)
UNARY = ["sigmoid", "tanh", "sin", "neg", "square"]
UNARY_INPLACE = ["sigmoid", "tanh", "sin", "neg", "square", "exp"]
BINARY = ["add", "mul", "sub"]


class Skip(Exception):
    """This program shows nothing: its numbers explode, or Tarn differs from PyTorch on purpose."""


class Random:
    """The minimal standard generator of Park and Miller."""

    def __init__(self, seed):
        self.state = (seed * 7919 + 12345) % 2147483646 + 1
        for _ in range(5):
            self.below(2)

    def below(self, n):
        self.state = self.state * 48271 % 2147483647
        return (self.state >> 8) % n

    def choice(self, items):
        return items[self.below(len(items))]

    def chance(self, percent):
        return self.below(100) < percent


def formula(sizes, k):
    n = 1
    for s in sizes:
        n *= s
    i = torch.arange(n, dtype=torch.int64)
    return (((i * 37 + k * 101 + 11) % 83).double() / 41.5 - 1).reshape(sizes).clone()  # not a view


def mask(sizes, k):
    return formula(sizes, k) > 0.2


def digest(t):
    flat = t.detach().reshape(-1)
    i = torch.arange(flat.numel(), dtype=torch.int64)
    weights = 1 + ((i * 7919 + 13) % 101).double() / 101
    total = (flat * weights).sum().item()
    if not abs(total) < 1e7:
        raise Skip
    return f"{total:.13g}"


def places(t):
    """The storage places of a tensor's elements."""
    offsets = [sum(i * s for i, s in zip(index, t.stride())) for index in itertools.product(*map(range, t.shape))]
    return {t.storage_offset() + o for o in offsets}


class Program:
    def __init__(self, seed, explain=False):
        self.explain = explain
        self.random = Random(seed)
        self.lines = [f"P {seed}"]
        self.regs = []
        self.leaves = []
        self.hooked, self.retained, self.pieces = set(), set(), set()
        self.used = set()  # ids of tensors that functions have seen
        self.errors = 0
        self.failed_backward = False
        self.results = None
        self.no_grad = 0

    def any(self):
        """A register; the newest are the likeliest."""
        n = len(self.regs)
        return max(self.random.below(n), self.random.below(n)) if self.random.chance(60) else self.random.below(n)

    def likely(self, wanted):
        """A register for which wanted(tensor) holds, most of the time: refusals should not crowd out the rest."""
        for _ in range(6):
            r = self.any()
            if wanted(self.regs[r]):
                break
        return r

    @staticmethod
    def is_dense(t):
        t = t.detach()
        order = sorted(range(t.dim()), key=t.stride, reverse=True)
        return t.permute(order).is_contiguous()

    def writable(self, x):
        base = x if x._base is None else x._base
        return not (base.requires_grad and any(base is leaf for leaf in self.leaves))

    def do(self, line, action, target=None, operands=()):
        """Runs action() as an instruction; its results become registers."""
        guarded = self.no_grad > 0
        text = ("n " if guarded else "") + line
        try:
            with torch.set_grad_enabled(not guarded):
                made = action()
        except (RuntimeError, ValueError) as error:
            if str(error).startswith("a leaf") and target is not None and target._base is not None:
                raise Skip from error  # a view whose history PyTorch has not yet brought up to date
            if line[0] in "KG" and "second time" in str(error):
                # PyTorch refuses some graphs that saved nothing.
                self.lines.append("e " + text)
                return False
            if "detached in-place" in str(error):
                raise Skip from error  # Tarn remembers where the gradient of a saved tensor goes
            if self.errors >= 2:
                return False
            self.errors += 1
            self.lines.append("E " + text)
            if self.explain:
                self.lines.append(f"# {str(error).splitlines()[0]}")
            return False
        if line[0] in "UBC" and not made[0].is_contiguous() and not all(self.is_dense(t) for t in operands):
            raise Skip  # the layout of a result of operands with gaps is not PyTorch's
        self.lines.append(text)
        if line[0] == "S":
            self.pieces |= set(range(len(self.regs), len(self.regs) + len(made)))
        self.used |= {id(t) for t in operands} | {id(target)}
        self.regs += made
        if line.startswith("L"):
            self.leaves += made
        return True

    def leaf(self, requires_grad):
        rank = self.random.below(4)
        sizes = [1 + self.random.below(4) for _ in range(rank)]
        k = self.random.below(1000)
        line = " ".join(map(str, ["L", k, int(requires_grad), *sizes]))
        no_grad, self.no_grad = self.no_grad, 0
        self.do(line, lambda: [formula(sizes, k).requires_grad_(requires_grad)])
        self.no_grad = no_grad

    def view(self):
        r = self.any()
        x = self.regs[r]
        rank, rnd = x.dim(), self.random
        kind = rnd.choice(["select", "narrow", "slice", "transpose", "permute", "view", "reshape", "expand", "diagonal",
                           "unsqueeze", "squeeze", "split"])
        if rank == 0 and kind not in ("unsqueeze", "expand", "view"):
            kind = "unsqueeze"
        if kind == "diagonal" and rank < 2:
            kind = "select"
        d = rnd.below(rank) if rank else 0
        if kind == "select":
            i = rnd.below(x.shape[d])
            self.do(f"V select {r} {d} {i}", lambda: [x.select(d, i)])
        elif kind == "narrow":
            start = rnd.below(x.shape[d])
            length = 1 + rnd.below(x.shape[d] - start)
            self.do(f"V narrow {r} {d} {start} {length}", lambda: [x.narrow(d, start, length)])
        elif kind == "slice":
            start, step = rnd.below(x.shape[d]), 1 + rnd.below(2)
            end = start + 1 + rnd.below(x.shape[d] - start)
            index = (slice(None),) * d + (slice(start, end, step),)
            self.do(f"V slice {r} {d} {start} {end} {step}", lambda: [x[index]])
        elif kind == "transpose":
            e = rnd.below(rank)
            self.do(f"V transpose {r} {d} {e}", lambda: [x.transpose(d, e)])
        elif kind == "permute":
            order = list(range(rank))
            for i in range(rank - 1, 0, -1):
                j = rnd.below(i + 1)
                order[i], order[j] = order[j], order[i]
            self.do(" ".join(map(str, ["V permute", r, *order])), lambda: [x.permute(order)])
        elif kind in ("view", "reshape"):
            sizes = self.other_sizes(x.numel())
            self.do(" ".join(map(str, ["V", kind, r, *sizes])), lambda: [getattr(x, kind)(sizes)])
        elif kind == "expand":
            sizes = [2 + rnd.below(2) if s == 1 and rnd.chance(70) else s for s in x.shape]
            if rnd.chance(40) and rank < 3:
                sizes = [2] + sizes
            self.do(" ".join(map(str, ["V expand", r, *sizes])), lambda: [x.expand(sizes)])
        elif kind == "diagonal":
            offset = rnd.below(3) - 1
            if x.detach().diagonal(offset).numel():
                self.do(f"V diagonal {r} {offset}", lambda: [x.diagonal(offset)])
        elif kind == "unsqueeze":
            if rank < 4:
                at = rnd.below(rank + 1)
                self.do(f"V unsqueeze {r} {at}", lambda: [x.unsqueeze(at)])
        elif kind == "squeeze":
            self.do(f"V squeeze {r} {d}", lambda: [x.squeeze(d)])
        else:
            size = 1 + rnd.below(x.shape[d])
            self.do(f"S {r} {size} {d}", lambda: list(x.split(size, d)))

    def other_sizes(self, numel):
        sizes = []
        while numel > 1:
            factor = next(f for f in range(2, numel + 1) if numel % f == 0)
            numel //= factor
            if sizes and self.random.chance(40):
                sizes[-1] *= factor
            else:
                sizes.append(factor)
        if self.random.chance(20):
            sizes.append(1)
        return sizes if sizes and len(sizes) <= 4 else [x for x in [self.product(sizes)]]

    @staticmethod
    def product(sizes):
        out = 1
        for s in sizes:
            out *= s
        return out

    def partner(self, r, into):
        """A register that broadcasts with r (into: to r), and shares all of r's places or none."""
        x = self.regs[r]
        fits = []
        for s, y in enumerate(self.regs):
            try:
                sizes = torch.broadcast_shapes(x.shape, y.shape)
            except RuntimeError:
                continue
            if self.product(sizes) > 64 or (into and sizes != x.shape):
                continue
            if into and x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr():
                same = x.shape == y.shape and x.stride() == y.stride() and x.storage_offset() == y.storage_offset()
                # Where self is the other operand too, PyTorch's mul_ refuses what Tarn differentiates.
                if same or places(x) & places(y):
                    continue
            fits.append(s)
        return self.random.choice(fits) if fits else None

    def is_constant(self, x):
        if x._base is None or not x.requires_grad or not self.has_history(x):
            return False
        return x.grad_fn is None and not any(x is leaf for leaf in self.leaves)

    def function(self):
        # A function of nothing but views made under no_grad has no gradient; PyTorch calls its node all the same, and
        # then refuses where what the node saved was changed.
        rnd, r = self.random, self.likely(lambda t: not self.is_constant(t))
        x = self.regs[r]
        if self.is_constant(x):
            return
        if rnd.chance(55):
            s = self.partner(r, into=False)
            if s is None:
                return
            name = rnd.choice(BINARY)
            self.do(f"B {name} {r} {s}", lambda: [getattr(x, name)(self.regs[s])], operands=(x, self.regs[s]))
        elif rnd.chance(70):
            name = rnd.choice(UNARY)
            self.do(f"U {name} {r}", lambda: [getattr(x, name)()], operands=(x,))
        elif rnd.chance(60):
            self.do(f"C {r}", lambda: [x.clone()], operands=(x,))
        else:
            self.do(f"D {r}", lambda: [x.detach()])

    def do_write(self, line, r, action, operands=()):
        self.do(line, lambda: [action(self.regs[r])][:0], self.regs[r], operands)

    def write(self):
        rnd, r = self.random, self.likely(self.writable)
        x = self.regs[r]
        if not self.writable(x) and rnd.chance(80):
            return self.function()
        kind = rnd.below(10)
        expanded = any(n > 1 and stride == 0 for n, stride in zip(x.shape, x.stride()))
        if kind < 3:
            names = UNARY_INPLACE if x.detach().abs().max() < 2 else ["sigmoid", "tanh", "sin", "neg"]
            name = rnd.choice(names)
            self.do_write(f"I {name} {r}", r, lambda t: getattr(t, name + "_")())
        elif kind < 7:
            s = self.partner(r, into=True)
            if s is None:
                return
            y = self.regs[s]
            name = rnd.choice(["add", "mul", "sub", "copy"])
            self.do_write(f"J {name} {r} {s}", r, lambda t: getattr(t, name + "_")(y), operands=(y,))
        elif kind == 7:
            if expanded:
                return  # a fill is allowed there by PyTorch
            if rnd.chance(50):
                self.do_write(f"F {r} 0.75", r, lambda t: t.fill_(0.75))
            else:
                self.do_write(f"Z {r}", r, lambda t: t.zero_())
        elif expanded:
            return  # PyTorch allows, with a warning, what Tarn refuses
        elif kind == 8:
            k = rnd.below(1000)
            self.do_write(f"M {r} {k}", r, lambda t: t.masked_fill_(mask(t.shape, k), 0.5))
        elif x.dim() > 0:
            i = rnd.below(x.shape[0])
            fits = [s for s, y in enumerate(self.regs) if y.shape == x.shape[1:] and not (
                y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr())]
            if fits:
                s = rnd.choice(fits)
                row = (torch.tensor([i]),)
                self.do_write(f"X {r} {i} {s}", r, lambda t: t.index_put_(row, self.regs[s].unsqueeze(0)))

    @staticmethod
    def has_history(x):
        """False for a view that may not follow its base: there PyTorch's retain_grad() does nothing, Tarn's refuses."""
        try:
            return x.grad_fn is None or True
        except RuntimeError:
            return False

    def other(self):
        rnd, kind = self.random, self.random.below(8)
        r = self.likely(lambda t: t._base is None if kind == 0 else t.requires_grad)
        x = self.regs[r]
        if kind == 0 and r not in self.retained:
            # (PyTorch goes on retaining the gradient of the tensor's old history.)
            self.do(f"T {r}", lambda: [x.detach_()][:0])
        elif kind == 1:
            # A view made before is refused or connected by Tarn, cut off by PyTorch.
            r = self.likely(lambda t: not t.requires_grad)
            x = self.regs[r]
            # A function that saved it before thinks of it as a constant; in PyTorch only its first derivative does.
            if not x.requires_grad and id(x) not in self.used and not any(y._base is x for y in self.regs) and x._base is None:
                self.do(f"Q {r}", lambda: [x.requires_grad_()][:0])
        elif kind <= 4 and self.has_history(x) and r not in self.pieces:
            # (All pieces of a split are one node in PyTorch.)
            self.retained.add(r)
            self.do(f"R {r}", lambda: [x.retain_grad()][:0])
        elif kind == 5:
            factor = rnd.choice([2, -1, 0.5])
            self.hooked.add(r)
            self.do(f"H {r} {factor}", lambda: [x.register_hook(lambda g: None if g is None else g * factor)][:0])
        elif kind == 6 and self.no_grad == 0 and rnd.chance(40):
            self.backward(keep=rnd.chance(70))
        else:
            self.no_grad = 0 if self.no_grad else 1 + rnd.below(4)

    def outputs(self, avoid=()):
        fits = [r for r, x in enumerate(self.regs) if x.requires_grad and r not in avoid] or [
            r for r, x in enumerate(self.regs) if x.requires_grad and not avoid]
        if not fits:
            return []
        count = min(len(fits), 1 + self.random.below(3))
        return sorted({max(self.random.choice(fits), self.random.choice(fits)) for _ in range(count)})

    def backward(self, keep):
        rs = self.outputs()
        if not rs:
            return
        outs = [self.regs[r] for r in rs]
        grads = [formula(x.shape, 7 + r) for r, x in zip(rs, outs)]
        line = " ".join(map(str, ["K", int(keep), *rs]))
        before = self.errors
        self.errors = 0
        done = self.do(line, lambda: [torch.autograd.backward(outs, grads, retain_graph=keep)][:0])
        self.errors += before
        if not done:
            self.failed_backward = True

    def double_backward(self):
        # An output that leads to no input has its hooks called or not, depending on how many outputs there are.
        rs = self.outputs(avoid=self.retained)
        # Of a result with a hook PyTorch returns the gradient from before the hook, unless it is the last of its path.
        leaves = [r for r, x in enumerate(self.regs)
                  if x.requires_grad and (r not in self.hooked or (x._base is None and x.is_leaf))]
        if not rs or not leaves:
            return
        made = {r for r in leaves if any(self.regs[r] is leaf for leaf in self.leaves)}
        leaves = sorted({self.random.choice(leaves) for _ in range(3)} | made)
        outs, ins = [self.regs[r] for r in rs], [self.regs[r] for r in leaves]

        def run():
            grads = [formula(x.shape, 7 + r) for r, x in zip(rs, outs)]
            first = torch.autograd.grad(outs, ins, grads, create_graph=True, allow_unused=True)
            used = [(g, formula(g.shape, 70 + i)) for i, g in enumerate(first) if g is not None and g.requires_grad]
            second = [None] * len(ins)
            if used:
                second = torch.autograd.grad([g for g, _ in used], ins, [w for _, w in used], allow_unused=True)
            self.results = [[self.shown(g) for g in first], [self.shown(g) for g in second]]
            return []

        before = self.errors
        self.errors = 0
        if not self.do(" ".join(map(str, ["G", *rs, "/", *leaves])), run):
            self.failed_backward = True
        self.errors += before

    @staticmethod
    def shown(g):
        return "-" if g is None else digest(g)

    def finish(self):
        if self.random.chance(35):
            self.double_backward()
        else:
            self.backward(keep=False)

    def make(self):
        for i in range(2 + self.random.below(2)):
            self.leaf(requires_grad=i != 1)
        for _ in range(8 + self.random.below(14)):
            if self.failed_backward:
                break
            if self.no_grad:
                self.no_grad -= 1
            pick = self.random.below(100)
            if pick < 32:
                self.view()
            elif pick < 58:
                self.function()
            elif pick < 82:
                self.write()
            elif pick < 86:
                self.leaf(requires_grad=self.random.chance(50))
            else:
                self.other()
        self.no_grad = 0
        if not self.failed_backward:
            self.finish()
        for r, x in enumerate(self.regs):
            grad = "?" if self.failed_backward else self.grad_of(x)
            self.lines.append(f"= {r} {digest(x)} {int(x.requires_grad)} {grad}")
        if self.results:
            self.lines.append(" ".join(["g", *self.results[0], "/", *self.results[1]]))
        return self.lines

    @staticmethod
    def grad_of(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return "-" if x.grad is None else digest(x.grad)


def main():
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description="random programs of views and writes, run by PyTorch")
    parser.add_argument("--show", type=int, metavar="SEED", help="print one program, with PyTorch's errors")
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--first", type=int, default=1, help="seed of the first program")
    parser.add_argument("--out", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "fuzz_views.txt.gz"))
    args = parser.parse_args()
    if args.show:
        print("\n".join(Program(args.show, explain=True).make()))
        return
    lines, seed, made = [], args.first, 0
    while made < args.programs:
        try:
            lines += Program(seed).make()
            made += 1
        except Skip:
            pass
        seed += 1
    text = "\n".join(lines) + "\n"
    with open(args.out, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as out:
        out.write(text.encode())
    refused = sum(line.startswith("E") for line in lines)
    print(f"{made} programs, {len(lines)} lines, {refused} refusals, {os.path.getsize(args.out)} bytes")


main()
