# Copyright (c) mmstepnet contributors. All rights reserved.
"""What steps cost beside a plain ResNet-50.

``python benchmarks/speed.py`` times pairs of runs, one of the plain network
and one of another, and prints the median of their ratios: what slows the
machine down for a while slows both. Each timed run follows one of the same
network that is not timed, so that all find their weights in the cache alike.
The row of the plain network compares it with itself. ``--profile`` prints
instead which operators the difference is spent in (of a compiled network,
which kernels that the compiler made), ``--mode memory`` the peak memory of a
training step. With ``--clock cpu`` the seconds are those of this
process, which other processes disturb less.
"""
import argparse
import re
import statistics
import time
from collections import Counter

import torch
from networks import NETWORKS
from torch.profiler import ProfilerActivity, profile

CLOCKS = dict(wall=time.perf_counter, cpu=time.process_time)


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        '--mode', choices=['eval', 'train', 'memory'], default='eval')
    parser.add_argument('--batch', type=int, default=1)
    parser.add_argument(
        '--size', type=int, nargs=2, default=[224, 224], metavar=('H', 'W'))
    parser.add_argument('--rounds', type=int, default=20)
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--clock', choices=CLOCKS, default='wall')
    parser.add_argument(
        '--profile',
        action='store_true',
        help='the operators that take more or less time than in plain')
    parser.add_argument('--compile', action='store_true')
    parser.add_argument('--channels-last', action='store_true')
    parser.add_argument('--amp', action='store_true', help='bfloat16')
    parser.add_argument(
        '--device', default='cpu', help='cpu or cuda; memory is for cpu only')
    parser.add_argument(
        '--networks', nargs='+', choices=NETWORKS, default=list(NETWORKS))
    return parser.parse_args()


class Subject:
    """A network and one run of it."""

    def __init__(self, name, args):
        torch.manual_seed(0)
        model = NETWORKS[name]().to(args.device)
        model.train(args.mode != 'eval')
        self.x = torch.randn(args.batch, 3, *args.size, device=args.device)
        if args.channels_last:
            model = model.to(memory_format=torch.channels_last)
            self.x = self.x.to(memory_format=torch.channels_last)
        self.training = args.mode != 'eval'
        self.amp = args.amp
        self.parameters = list(model.parameters())
        self.optimizer = torch.optim.SGD(self.parameters, lr=0., momentum=.9)
        self.model = torch.compile(model) if args.compile else model

    def run(self):
        with torch.set_grad_enabled(self.training), torch.autocast(
                self.x.device.type, torch.bfloat16, enabled=self.amp):
            out = self.model(self.x)
        if self.training:
            self.optimizer.zero_grad()
            out.float().mean().backward()
            self.optimizer.step()
        if self.x.is_cuda:
            torch.cuda.synchronize()

    def seconds(self, clock):
        self.run()
        start = clock()
        self.run()
        return clock() - start

    def operators(self):
        """Milliseconds of processor time by operator, for one run."""
        self.run()
        with profile(activities=[ProfilerActivity.CPU]) as p:
            self.run()
        times = Counter()
        for event in p.key_averages():
            # kernels are numbered in every compiled graph
            name = re.sub(r'^graph_\d+_(.*)_\d+$', r'\1', event.key)
            name = re.sub(r'(Call CompiledFxGraph) \w+', r'\1', name)
            times[name] += event.self_cpu_time_total / 1e3
        return times

    def peak_bytes(self):
        """Most that a step holds, parameters and their momentum included."""
        self.run()
        held = sum(p.nbytes for p in self.parameters) * 2
        self.optimizer.zero_grad()
        with profile(
                activities=[ProfilerActivity.CPU], profile_memory=True) as p:
            self.run()
        now = peak = 0
        events = p.profiler.kineto_results.events()
        for event in sorted((e for e in events if e.name() == '[memory]'),
                            key=lambda e: e.start_ns()):
            now += event.nbytes()
            peak = max(peak, now)
        return held + peak


def quartiles(values):
    low, _, high = statistics.quantiles(values, n=4)
    return low, statistics.median(values), high


def compare_times(subjects, args):
    clock = CLOCKS[args.clock]
    base = next(iter(subjects.values()))
    pairs = {name: [] for name in subjects}
    for subject in subjects.values():
        subject.run()
    for turn in range(args.rounds):
        for name, subject in subjects.items():
            # either one goes first as often
            if turn % 2:
                own = subject.seconds(clock)
                plain = base.seconds(clock)
            else:
                plain = base.seconds(clock)
                own = subject.seconds(clock)
            pairs[name].append((own, plain))
    best = min(plain for both in pairs.values() for _, plain in both)
    print(f'{"network":24} {"best ms":>9} {"ratio":>7}  quartiles      of the '
          'best')
    for name, both in pairs.items():
        low, ratio, high = quartiles([own / plain for own, plain in both])
        fastest = min(own for own, _ in both)
        print(f'{name:24} {fastest * 1e3:9.1f} {ratio:7.3f}  {low:.3f}-'
              f'{high:.3f} {fastest / best:11.3f}')


def compare_operators(subjects, args):
    runs = {name: [] for name in subjects}
    for _ in range(args.rounds):
        for name, subject in subjects.items():
            runs[name].append(subject.operators())
    times = {
        name: {
            key: statistics.median(run[key] for run in own)
            for key in set().union(*own)
        }
        for name, own in runs.items()
    }
    (base, plain), *others = times.items()
    print(f'{base}: {sum(plain.values()):.1f} ms')
    for name, own in others:
        differences = {
            key: own.get(key, 0.) - plain.get(key, 0.)
            for key in own.keys() | plain.keys()
        }
        print(f'{name}: {sum(differences.values()):+.1f} ms, of these')
        for key in sorted(differences, key=lambda k: -abs(differences[k]))[:8]:
            print(f'    {differences[key]:+8.2f} {key}')


def compare_memory(subjects):
    base = None
    print(f'{"network":24} {"peak MB":>9} {"ratio":>7}')
    for name, subject in subjects.items():
        peak = subject.peak_bytes()
        base = base or peak
        print(f'{name:24} {peak / 1e6:9.1f} {peak / base:7.3f}')


def main():
    args = parse_args()
    torch.set_num_threads(args.threads)
    print(f'ResNet-50, {args.mode}, batch {args.batch}, '
          f'{args.size[0]}x{args.size[1]}, '
          f'{"compiled" if args.compile else "eager"}'
          f'{", channels last" if args.channels_last else ""}'
          f'{", bfloat16" if args.amp else ""}, {args.device}, '
          f'{args.threads} threads, {args.rounds} rounds, {args.clock} time, '
          f'torch {torch.__version__}')
    if args.profile and args.compile:
        from torch._inductor import config
        config.cpp.enable_kernel_profile = True
    subjects = {name: Subject(name, args) for name in args.networks}
    if args.mode == 'memory':
        compare_memory(subjects)
    elif args.profile:
        compare_operators(subjects, args)
    else:
        compare_times(subjects, args)


if __name__ == '__main__':
    main()
