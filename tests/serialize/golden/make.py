"""Makes the files of torch.save that the tests read: ./dev golden. Values follow from a formula."""

import collections
import fractions
import pathlib
import zipfile

import torch

HERE = pathlib.Path(__file__).parent
DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]


def counted(*sizes, dtype=torch.float32):
    return torch.arange(int(torch.tensor(sizes).prod()), dtype=torch.float32).reshape(sizes).to(dtype)


def plain():
    """One of everything that can be read."""
    base = counted(4, 6)
    return {
        "dtypes": {name: counted(3, dtype=getattr(torch, name)) for name in DTYPES},
        "transposed": base.t(),
        "row": base[1],
        "base": base,
        "scalar": torch.tensor(2.5),
        "empty": torch.zeros(0, 3),
        "expanded": torch.tensor([7.0]).expand(2, 3),
        "parameter": torch.nn.Parameter(counted(2)),
        "ordered": collections.OrderedDict([("z", 1), ("a", 2)]),
        "list": [1, -5, 300, 70000, 2**40, 2.5, True, False, None, "text é", (1, (2,)), []],
        "size": torch.Size([2, 3]),
        "dtype": torch.float16,
        "device": torch.device("cuda:1"),
        5: "an integer key",
    }


class Custom:
    pass


def trained():
    """A module and optimizers after two steps, and their parameters after a third."""
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.copy_(counted(*parameter.shape) / 8 + 0.25)
    sgd = torch.optim.SGD(net[0].parameters(), lr=0.1, momentum=0.9)
    adam = torch.optim.AdamW(net[1].parameters(), lr=0.01, betas=(0.8, 0.99))

    def step():
        net(counted(4, 3).sin()).square().sum().backward()
        sgd.step(), adam.step()
        sgd.zero_grad(), adam.zero_grad()

    step(), step()
    before = {
        "model": {k: v.clone() for k, v in net.state_dict().items()},
        "sgd": torch.save(sgd.state_dict(), HERE / "sgd.pth"),
        "adamw": torch.save(adam.state_dict(), HERE / "adamw.pth"),
    }
    torch.save(net.state_dict(), HERE / "module.pth")
    step()
    after = {k: v.clone() for k, v in net.state_dict().items()}
    torch.save({"before": before["model"], "after": after}, HERE / "steps.pth")


def conv():
    """A small convolutional net and what it computes."""
    net = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3, padding=1, bias=False), torch.nn.BatchNorm2d(3),
                              torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(12, 4))
    with torch.no_grad():
        for number, parameter in enumerate(net.parameters()):
            parameter.copy_((counted(*parameter.shape) * 0.7 + number).sin())
    net(counted(2, 2, 4, 4).sin())
    state = {k: v.clone() for k, v in net.state_dict().items()}
    output = net.eval()(counted(1, 2, 4, 4).cos()).detach()
    torch.save({"model": state, "run": {"epoch": 3, "output": output}}, HERE / "conv.pth")
    torch.save(net, HERE / "whole.pth")


def rewrite(name, compression=zipfile.ZIP_STORED, **replaced):
    """A file of torch.save as it would never write it."""
    torch.save([counted(3)], HERE / name)
    with zipfile.ZipFile(HERE / name) as file:
        entries = {entry: replaced.get(entry.split("/")[-1], file.read(entry)) for entry in file.namelist()}
    with zipfile.ZipFile(HERE / name, "w", compression) as file:
        for entry, content in entries.items():
            file.writestr(zipfile.ZipInfo(entry), content, compression)


torch.save(plain(), HERE / "plain.pth")
torch.save(plain(), HERE / "protocol4.pth", pickle_protocol=4)
torch.save(plain(), HERE / "legacy.pt", _use_new_zipfile_serialization=False)
torch.save({"options": Custom()}, HERE / "unknown.pth")
torch.save([fractions.Fraction(1, 3)], HERE / "fraction.pth")
torch.jit.script(torch.nn.Linear(1, 1)).save(HERE / "script.pt")
trained()
conv()
rewrite("big_endian.pth", byteorder="big")
rewrite("deflated.pth", zipfile.ZIP_DEFLATED)
