"""Writes the reference values of tests/nn and tests/optim, made by PyTorch: golden/*.txt, one row a line, name first.

Weights and inputs come from the integer formula of tests/support.h, so that none of them is stored.
"""

import math
import pathlib

import torch
from torch import nn

NN = pathlib.Path(__file__).parent
OPTIM = NN.parent.parent / "optim" / "golden"


def formula(sizes, a=194, b=60, m=502, c=251, d=64, dtype=torch.float32):
    i = torch.arange(math.prod(sizes), dtype=torch.int64)
    return (((i * a + b) % m - c).double() / d).to(dtype).reshape(sizes)


def set_parameters(net):
    """Parameter k of the net gets the formula with b = 60 + 37 k and values up to 1/4."""
    with torch.no_grad():
        for k, parameter in enumerate(net.parameters()):
            parameter.copy_(formula(parameter.shape, b=60 + 37 * k, d=1024))


def mlp():
    net = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 16), nn.Tanh(), nn.Linear(16, 5))
    return net, formula((12, 20), d=128), torch.arange(12) * 7 % 5


def convnet():
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(16, 5))
    return net, formula((6, 3, 8, 8), d=128), torch.arange(6) * 7 % 5


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=5e-4),
    "adam": lambda p: torch.optim.Adam(p, lr=0.005),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.005, weight_decay=0.05),
}


def trajectory(make_net, make_optimizer, steps=10):
    """The losses of ten steps, then the loss in eval mode."""
    net, x, y = make_net()
    set_parameters(net)
    optimizer = make_optimizer(net.parameters())
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    net.eval()
    losses.append(nn.functional.cross_entropy(net(x), y).item())
    return losses


# Names are those of the rows in tests/optim/update_test.cpp.
UPDATES = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "sgd momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "sgd momentum dampening decay": lambda p: torch.optim.SGD(
        p, lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.01),
    "sgd nesterov decay": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.8, nesterov=True, weight_decay=0.01),
    "sgd maximize": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.5, maximize=True, weight_decay=0.1),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adam betas eps decay": lambda p: torch.optim.Adam(p, lr=0.02, betas=(0.5, 0.9), eps=1e-3, weight_decay=0.1),
    "adam amsgrad": lambda p: torch.optim.Adam(p, lr=0.01, betas=(0.9, 0.5), amsgrad=True),
    "adam maximize": lambda p: torch.optim.Adam(p, lr=0.01, maximize=True),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01),
    "adamw amsgrad decay maximize": lambda p: torch.optim.AdamW(
        p, lr=0.01, weight_decay=0.3, amsgrad=True, maximize=True),
}


def update(make_optimizer, dtype):
    """37 numbers after five steps with gradients of the formula, larger and smaller in turn."""
    param = nn.Parameter(formula((37,), dtype=dtype))
    optimizer = make_optimizer([param])
    for step in range(5):
        param.grad = formula((37,), b=60 + 91 * step, d=64 if step % 2 else 256, dtype=dtype)
        optimizer.step()
    return param.detach().tolist()


def rates(make_scheduler, steps=25):
    param = nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([param], lr=0.5)
    scheduler = make_scheduler(optimizer)
    out = [scheduler.get_last_lr()[0]]
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
        out.append(scheduler.get_last_lr()[0])
    return out


lr = torch.optim.lr_scheduler
SCHEDULERS = {
    "step": lambda o: lr.StepLR(o, 4, 0.5),
    "lambda": lambda o: lr.LambdaLR(o, lambda epoch: 0.9**epoch),
    "linear": lambda o: lr.LinearLR(o, 0.25, 1.0, 8),
    "linear down": lambda o: lr.LinearLR(o, 1.0, 0.125, 5),
    "cosine": lambda o: lr.CosineAnnealingLR(o, 10, 0.01),
    "cosine to zero": lambda o: lr.CosineAnnealingLR(o, 25),
    "warm-up and cosine": lambda o: lr.SequentialLR(
        o, [lr.LinearLR(o, 0.01, 1.0, 5), lr.CosineAnnealingLR(o, 20)], [5]),
    "three in sequence": lambda o: lr.SequentialLR(
        o, [lr.LinearLR(o, 0.1, 1.0, 3), lr.StepLR(o, 2, 0.5), lr.CosineAnnealingLR(o, 6, 0.1)], [4, 11]),
    "step and lambda": lambda o: lr.SequentialLR(
        o, [lr.StepLR(o, 2, 0.5), lr.LambdaLR(o, lambda epoch: 1 / (1 + epoch))], [5]),
}


def write(path, rows, digits):
    path.parent.mkdir(exist_ok=True)
    with open(path, "w") as file:
        for name, values in rows.items():
            file.write(f"{name}: " + " ".join(f"{v:.{digits}g}" for v in values) + "\n")


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    nets = {"mlp": mlp, "convnet": convnet}
    write(NN / "trajectories.txt",
          {f"{n} {o}": trajectory(nets[n], OPTIMIZERS[o]) for n in nets for o in OPTIMIZERS}, 9)
    write(OPTIM / "updates_f32.txt", {n: update(f, torch.float32) for n, f in UPDATES.items()}, 9)
    write(OPTIM / "updates_f64.txt", {n: update(f, torch.float64) for n, f in UPDATES.items()}, 17)
    write(OPTIM / "rates.txt", {n: rates(f) for n, f in SCHEDULERS.items()}, 17)


if __name__ == "__main__":
    main()
