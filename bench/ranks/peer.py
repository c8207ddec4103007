"""main.cpp in PyTorch: peer.py alone|apart|ddp|all_reduce STEPS."""

import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F


def conv(inputs, outputs, kernel, stride):
    return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1, self.bn1 = conv(inputs, outputs, 3, stride), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = conv(outputs, outputs, 3, 1), nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential()
        if inputs != outputs or stride != 1:
            self.shortcut = nn.Sequential(conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + self.shortcut(x))


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.bn = conv(3, 64, 7, 2), nn.BatchNorm2d(64)
        widths = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2), (512, 512, 1)]
        self.layers = nn.Sequential(*(Block(*width) for width in widths))
        self.fc = nn.Linear(512, 1000)

    def forward(self, images):
        x = F.max_pool2d(F.relu(self.bn(self.stem(images))), 3, 2, 1)
        return self.fc(self.layers(x).mean((2, 3)))


def time_steps(count, step):
    times = []
    for i in range(-3, count):
        start = time.perf_counter()
        step()
        if i >= 0:
            times.append(time.perf_counter() - start)
    times.sort()
    if not dist.is_initialized() or dist.get_rank() == 0:
        print(f"{times[len(times) // 2]:.6f} {times[0]:.6f}", flush=True)


def time_training(net, count):
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    images, labels = torch.randn(8, 3, 112, 112), torch.randint(1000, (8,))

    def step():
        optimizer.zero_grad()
        F.cross_entropy(net(images), labels).backward()
        optimizer.step()

    time_steps(count, step)


def main():
    what, steps = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(1)
    if what == "alone":
        return time_training(ResNet18(), steps)
    dist.init_process_group("gloo")
    if what == "apart":
        time_training(ResNet18(), steps)
    elif what == "ddp":
        time_training(nn.parallel.DistributedDataParallel(ResNet18()), steps)
    else:
        values = torch.ones(6_500_000)
        time_steps(steps, lambda: dist.all_reduce(values))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
