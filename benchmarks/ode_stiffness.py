# Copyright (c) mmstepnet contributors. All rights reserved.
"""SI and SAI of a linear and of a stiff textbook system.

``python benchmarks/ode_stiffness.py PICTURE`` prints the tables of
docs/stiffness.md and draws the picture (PNG or SVG).
"""
import argparse

import torch

from mmstepnet.evaluation.plots import figure
from mmstepnet.stiffness.ode import linear, van_der_pol
from mmstepnet.stiffness.plot_style import style


def measure(ode, times):
    states = ode.solve(times, 1e-9)
    return ode.stiffness_index(states), ode.stiffness_aware_index(states)


def linear_table():
    print('du/dt = diag(-1, -L) u from u = (1, 1)')
    print('     L      SI   SAI at t = 0   at 1 / L   at 10 / L')
    for rate in (10., 100., 1000.):
        ode = linear(torch.diag(torch.tensor([-1., -rate])))
        times = torch.linspace(0, 10 / rate, 20001, dtype=torch.float64)
        si, sai = measure(ode, times)
        print(f'{rate:6.0f} {si[0]:7.1f} {sai[0]:14.2f} '
              f'{sai[2000]:10.2f} {sai[-1]:11.2f}')


def van_der_pol_table():
    print('van der Pol, x" = mu (1 - x^2) x\' - x, from (2, 0)')
    print('  mu  largest SI  largest SAI  ratio   median SI  median SAI')
    for mu in (1, 10, 30, 100, 300):
        # Dense where the solution jumps.
        times = torch.linspace(0, max(2.2 * mu, 8), 200001).double()
        si, sai = measure(van_der_pol(mu), times)
        print(f'{mu:4d} {si.max():11.2f} {sai.max():12.2f} '
              f'{sai.max() / si.max():6.2f} {si.median():11.3f} '
              f'{sai.median():11.4f}')


def draw(path):
    fig, axes = figure(2, size=(5.2, 3.4))
    ode = linear(torch.diag(torch.tensor([-1., -100.])))
    cases = [('du/dt = diag(-1, -100) u', ode, 0.12),
             ('van der Pol, mu = 10', van_der_pol(10), 25)]
    for ax, (title, ode, end) in zip(axes, cases):
        times = torch.linspace(0, end, 50001, dtype=torch.float64)
        si, sai = measure(ode, times)
        for i, (name, index) in enumerate(dict(SI=si, SAI=sai).items()):
            ax.semilogy(times, index, label=name, **style(i))
        ax.set_title(title, fontsize=10)
        ax.set_xlabel('t')
        ax.set_ylabel('index, 1 / time')
        ax.grid(alpha=0.3)
        ax.spines[['top', 'right']].set_visible(False)
    axes[0].legend()
    fig.savefig(path, dpi=150)


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('picture')
    linear_table()
    van_der_pol_table()
    draw(parser.parse_args().picture)
