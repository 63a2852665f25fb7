# Copyright (c) mmstepnet contributors. All rights reserved.
"""What measuring stiffness costs.

``python benchmarks/stiffness.py numbers`` times TNS itself beside a grid;
``python benchmarks/stiffness.py hook CONFIG`` compares validations with and
without TNSHook. Both print a table.
"""
import argparse
import statistics
import time
import tracemalloc

import torch
from mmengine.config import Config, DictAction

from mmstepnet.stiffness import StiffnessAccumulator, delta, estimate, tns


def timed(function, repeats):
    """Median seconds, and the result."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), result


def trajectories(samples, sizes):
    generator = torch.Generator().manual_seed(0)
    shape = (samples, sum(sizes))
    return torch.empty(shape).log_normal_(-1, 0.5, generator=generator)


def grid_tns(nsi, sizes, steps):
    """Mean TNS by the midpoint rule on a grid of steps x steps."""
    ends = [5., nsi.max().item()]
    m1, m2 = ((torch.arange(steps) + 0.5) * end / steps for end in ends)
    cell = ends[0] * ends[1] / steps**2
    return delta(nsi, m1, m2, sizes).sum().item() * cell


def bench_numbers(args):
    sizes = [17, 17, 17]
    nsi = trajectories(args.samples, sizes)
    print(f'TNS of {args.samples} samples x {sum(sizes)} blocks, '
          f'{torch.get_num_threads()} threads, median of {args.repeats}')
    seconds, exact = timed(lambda: estimate(tns(nsi, sizes)).mean,
                           args.repeats)
    print(f'{"exact":>12} {seconds:8.3f} s   TNS {exact:.6f}')
    for steps in (20, 50, 100, 200):
        seconds, value = timed(lambda: grid_tns(nsi, sizes, steps), 1)
        print(f'{f"grid {steps}":>12} {seconds:8.3f} s   TNS {value:.6f}   '
              f'error {abs(value / exact - 1):.2%}')
    stages = {
        str(i): [f'{i}.{j}' for j in range(size)]
        for i, size in enumerate(sizes)
    }
    tracemalloc.start()
    accumulator = StiffnessAccumulator(stages)
    for start in range(0, args.samples, 8):
        part = nsi[start:start + 8]
        ids = range(start, start + len(part))
        accumulator.update(ids, part[..., None].expand(-1, -1, 3))
    python_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    chunks = accumulator.state_dict()['chunks']
    tensor_bytes = sum(tensor.untyped_storage().nbytes() for chunk in chunks
                       for tensor in chunk)
    bound = 2**20 + 16 * nsi.numel()
    used = python_bytes + tensor_bytes
    print(f'accumulator: {used / 2**20:.2f} MiB, that is '
          f'{used / nsi.numel():.2f} bytes x samples x blocks; bound '
          f'{bound / 2**20:.2f} MiB')
    seconds, _ = timed(accumulator.compute, args.repeats)
    print(f'accumulator: compute() of everything {seconds:.3f} s')


def bench_hook(args):
    from mmstepnet.engine import build_runner, set_dataloader_defaults
    cfg = Config.fromfile(args.config)
    if args.cfg_options:
        cfg.merge_from_dict(args.cfg_options)
    cfg.launcher = 'none'
    cfg.work_dir = cfg.get('work_dir') or 'work_dirs/benchmark'
    cfg.custom_hooks = [
        hook for hook in cfg.get('custom_hooks') or []
        if hook['type'] != 'mmstepnet.TNSHook'
    ]
    cfg.val_dataloader.num_workers = 0
    cfg.val_dataloader.persistent_workers = False
    args.no_pin_memory = True
    set_dataloader_defaults(cfg, args, 'val')
    runner = build_runner(cfg, 'val')
    loop = runner._val_loop = runner.build_val_loop(runner._val_loop)
    plain = list(runner._hooks)
    runner.register_hook(dict(type='mmstepnet.TNSHook'))
    hook = next(h for h in runner._hooks if h not in plain)
    hooks = {False: plain, True: list(runner._hooks)}
    batches = list(loop.dataloader)
    runner.call_hook('before_val')
    runner.call_hook('before_val_epoch')
    runner.model.eval()
    clocks = dict(wall=time.perf_counter, cpu=time.process_time)
    totals = []
    for repeat in range(args.repeats + 1):
        total = {(kind, on): 0. for kind in clocks for on in hooks}
        for index, batch in enumerate(batches):
            # Both on one image, so that what else the machine does hits both.
            for on in (True, False) if (repeat + index) % 2 else (False, True):
                runner._hooks = hooks[on]
                hook._recorder.open() if on else hook._recorder.close()
                start = {kind: clock() for kind, clock in clocks.items()}
                loop.run_iter(index, batch)
                for kind, clock in clocks.items():
                    total[kind, on] += clock() - start[kind]
                hook._recorder.close()
        totals.append(total)
    hook.after_val_epoch(runner, {})
    print(f'\n{args.config}: {len(batches)} batches, '
          f'{torch.get_num_threads()} threads, {args.repeats} pairs of runs, '
          'interleaved batch by batch')
    for kind in clocks:
        # The first pair warms up.
        off, on = ([total[kind, on] for total in totals[1:]]
                   for on in (False, True))
        ratios = [b / a - 1 for a, b in zip(off, on)]
        print(f'{kind} time of a run: without {statistics.median(off):.2f} s, '
              f'with {statistics.median(on):.2f} s, median of the pairs '
              f'{statistics.median(ratios):+.2%} '
              f'(from {min(ratios):+.2%} to {max(ratios):+.2%})')


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    modes = parser.add_subparsers(dest='mode', required=True)
    numbers = modes.add_parser('numbers', help='TNS beside a grid')
    numbers.add_argument('--samples', type=int, default=50000)
    numbers.set_defaults(run=bench_numbers)
    hook = modes.add_parser('hook', help='validations with the hook')
    hook.add_argument('config')
    hook.add_argument('--cfg-options', nargs='+', action=DictAction)
    hook.set_defaults(run=bench_hook)
    for mode in (numbers, hook):
        mode.add_argument('--repeats', type=int, default=5)
        mode.add_argument('--threads', type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    args.run(args)


if __name__ == '__main__':
    main()
