# Copyright (c) mmstepnet contributors. All rights reserved.
import re
import shutil
from pathlib import Path
from setuptools import find_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
MIM_FILES = ('configs', 'tools', 'model-index.yml')


class BuildWithMim(build_py):
    """Put what MIM looks for into ``mmstepnet/.mim`` of the wheel.

    An editable install needs no copy: MIM finds the checkout.
    """

    def run(self):
        if self.editable_mode:
            return super().run()
        package = Path(self.build_lib) / 'mmstepnet'
        # A build folder may hold modules that are gone from the sources.
        shutil.rmtree(package, ignore_errors=True)
        super().run()
        target = package / '.mim'
        target.mkdir()
        for name in MIM_FILES:
            if (ROOT / name).is_dir():
                shutil.copytree(
                    ROOT / name,
                    target / name,
                    ignore=shutil.ignore_patterns('__pycache__'))
            else:
                shutil.copy2(ROOT / name, target)


class WheelWithMim(bdist_wheel):
    """Put it next to the metadata, too.

    OneDL's MIM 0.5.1 takes the folder of the first file that pip has recorded
    for that of the package, which is the folder of the metadata.
    """

    def write_wheelfile(self, wheelfile_base, *args, **kwargs):
        super().write_wheelfile(wheelfile_base, *args, **kwargs)
        built = Path(self.bdist_dir) / 'mmstepnet' / '.mim'
        if built.is_dir():
            shutil.copytree(built, Path(wheelfile_base) / '.mim')


def version():
    text = (ROOT / 'mmstepnet' / 'version.py').read_text()
    return re.search(r"__version__ = '(.+)'", text).group(1)


def requirements(name):
    lines = (ROOT / 'requirements' / f'{name}.txt').read_text().splitlines()
    return [line for line in lines if line and not line.startswith('#')]


setup(
    name='mmstepnet',
    version=version(),
    description='Residual networks whose blocks take a step: StepNet and its '
    'neighbours for MMDetection and MMPretrain',
    long_description=(ROOT / 'README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    author='mmstepnet contributors',
    license='Apache-2.0',
    keywords='object detection, image classification, attention, neural ODE',
    classifiers=[
        'Development Status :: 4 - Beta',
        'Operating System :: OS Independent',
        'Programming Language :: Python :: 3',
        'Programming Language :: Python :: 3.10',
        'Programming Language :: Python :: 3.11',
        'Programming Language :: Python :: 3.12',
        'Programming Language :: Python :: 3.13',
        'Topic :: Scientific/Engineering :: Artificial Intelligence',
    ],
    packages=find_packages(include=['mmstepnet', 'mmstepnet.*']),
    python_requires='>=3.10',
    install_requires=requirements('runtime'),
    extras_require={
        name: requirements(name)
        for name in ('docs', 'onedl', 'openmmlab', 'tests')
    },
    cmdclass={
        'build_py': BuildWithMim,
        'bdist_wheel': WheelWithMim
    },
    zip_safe=False)
