# SPDX-License-Identifier: Apache-2.0
"""Values as JSON can carry them."""
import datetime
import math
import sys

DEPTH_MAX = 40
INT_MAX = 2**63 - 1


class NotPlain(TypeError):
    """There is no faithful JSON for it."""


def number(value):
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -INT_MAX <= value <= INT_MAX else float(value)
    return value if math.isfinite(value) else None


def scalar(value, lenient):
    """One value of any kind; lenient: what has no JSON becomes its text."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (bool, int, float)):
        return number(value)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        if isinstance(value, numpy.datetime64):
            return None if numpy.isnat(value) else str(value)
        if isinstance(value, (numpy.bool_, numpy.number)) and not isinstance(value, numpy.complexfloating):
            return number(value.item())
    if not lenient:
        raise NotPlain(type(value).__name__)
    return str(value)


def key(value):
    if isinstance(value, str):
        return value
    return str(scalar(value, True))


def plain(value, lenient=False, depth=0):
    """A copy made of dicts, lists, strings, numbers, booleans and None only."""
    if depth > DEPTH_MAX:
        raise NotPlain("nested too deeply")
    if isinstance(value, dict):
        return {key(k): plain(v, lenient, depth + 1) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v, lenient, depth + 1) for v in value]
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        return plain(value.tolist(), lenient, depth + 1)
    return scalar(value, lenient)
