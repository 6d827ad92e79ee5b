# SPDX-License-Identifier: Apache-2.0
"""Whether the packages that a copied process has in memory are still those on disk."""
import os
import site
import sys
from importlib.machinery import PathFinder

_folders = {}  # a package that is installed or removed changes its folder
_packages = {}


def _stamp(path):
    try:
        st = os.stat(path)
    except OSError:
        return None
    return st.st_mtime_ns, st.st_size


def _found(name):
    spec = PathFinder.find_spec(name, [p for p in sys.path if p])
    origin = spec.origin if spec else None
    return origin, _stamp(origin) if origin else None


def remember():
    for path in [*filter(None, sys.path), site.getusersitepackages()]:
        _folders[path] = _stamp(path)
    for name in {name.partition(".")[0] for name in list(sys.modules)}:
        if name not in sys.stdlib_module_names and name not in ("__main__", "atoll_kernel"):
            _packages[name] = _found(name)


def changed():
    if all(_stamp(path) == stamp for path, stamp in _folders.items()):
        return False
    if _stamp(site.getusersitepackages()) and site.getusersitepackages() not in sys.path:
        return True  # it has come into being, and would be searched
    return any(_found(name) != found for name, found in _packages.items())
