# SPDX-License-Identifier: Apache-2.0
"""Small changes to other people's modules, made when (and if) user code imports them."""
import importlib.abc
import importlib.util
import sys


class _After(importlib.abc.Loader):
    def __init__(self, loader, then):
        self._loader = loader
        self._then = then

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._then(module)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self):
        self.wanted = {}

    def find_spec(self, name, path, target=None):
        then = self.wanted.pop(name, None)
        if then is None:
            return None
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            self.wanted[name] = then
            return None
        spec.loader = _After(spec.loader, then)
        return spec


_finder = _Finder()


def when_imported(name, then):
    """Calls then(module) once the module is there; at once if it is already."""
    if name in sys.modules:
        then(sys.modules[name])
        return
    _finder.wanted[name] = then
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def _pillow(module):
    import os

    from IPython.display import display

    save = module.Image.save

    def save_and_show(self, fp, format=None, **params):
        save(self, fp, format, **params)
        if isinstance(fp, (str, os.PathLike)):
            display(self)

    def show(self, title=None):
        display(self)

    save_and_show.__doc__, show.__doc__ = save.__doc__, module.Image.show.__doc__
    module.Image.save = save_and_show
    module.Image.show = show


def install():
    when_imported("PIL.Image", _pillow)
