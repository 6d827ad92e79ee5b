# SPDX-License-Identifier: Apache-2.0
"""What a warm interpreter holds is never freed, so nobody needs to count who uses it.

Python writes to an object whenever somebody starts or stops using it, so a copy of the process would soon have a page
of its own for each that it only looks at. Since 3.12 an object with the highest count is left alone by the interpreter.
That makes the first cell of a copy a third quicker and halves the memory that is its own.
"""
import gc
import struct
import sys
import sysconfig
import types
from array import array

_OF_CODE = ("co_consts", "co_names", "co_filename", "co_name", "co_qualname", "co_linetable", "co_exceptiontable")


def _possible():
    """How the count is kept is not the same in other versions."""
    return (
        sys.implementation.name == "cpython"
        and (3, 12) <= sys.version_info[:2] <= (3, 13)
        and struct.calcsize("P") == 8
        and sys.byteorder == "little"
        and not sysconfig.get_config_var("Py_GIL_DISABLED")
    )


def _parts_of_code(objects):
    """The collector does not know these."""
    return [getattr(o, name) for o in objects if type(o) is types.CodeType for name in _OF_CODE]


def _everything():
    found = gc.get_objects()
    known = set(map(id, found))
    level = found
    while level:
        below = gc.get_referents(*level) + _parts_of_code(level)
        level = [o for o in below if id(o) not in known and not known.add(id(o))]
        found += level
    return found


def all_of_it(pin):
    """pin(address, n) sets each count that is there, at n places listed from that address on."""
    if not _possible():
        return
    found = _everything()  # alive until they are pinned: a place that has been freed is not to be written to
    places = array("Q", map(id, found))
    pin(places.buffer_info()[0], len(places))
