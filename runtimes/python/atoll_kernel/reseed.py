# SPDX-License-Identifier: Apache-2.0
"""Every generator of a copied process gets a state of its own. Copies in different sandboxes have equal pids, so
nothing that looks for a change of pid (OpenSSL does) notices the fork."""
import gc
import os
import random
import sys

_generators = []


def _is_generator(o):
    return isinstance(o, random.Random) and not isinstance(o, random.SystemRandom)


def find_all():
    """Before gc.freeze() hides them: each instance, some libraries have their own."""
    _generators[:] = [o for o in gc.get_objects() if _is_generator(o)]


def again():
    """Of a process that was copied while it ran: those that user code has made, too."""
    known = {id(o) for o in _generators}
    _generators.extend(o for o in gc.get_objects() if _is_generator(o) and id(o) not in known)
    all_of_them()


def all_of_them():
    for generator in _generators:
        generator.seed()
    modules = sys.modules
    if "numpy.random" in modules:
        modules["numpy.random"].seed()
    if "uuid" in modules:
        modules["uuid"]._node = modules["uuid"]._last_timestamp = None
    if "tempfile" in modules:
        modules["tempfile"]._name_sequence = None
    if "ssl" in modules:
        modules["ssl"].RAND_add(os.urandom(64), 64.0)
    if "multiprocessing.process" in modules:
        modules["multiprocessing.process"].current_process().authkey = os.urandom(32)
