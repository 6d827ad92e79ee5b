#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# What the linker was told to protect: each program and library of the build is position independent, binds all names
# when it starts, keeps its tables read-only after that, and has no stack that can be executed.
# Usage: hardening.py BUILD/src
import os
import subprocess
import sys

# Linked against no C library, and loaded into programs of others: they have no names to bind late.
BARE = ("libatoll-criu-preload.so", "libatoll-join.so")


def elf_files(top):
    for at, _, names in os.walk(top):
        for name in names:
            path = os.path.join(at, name)
            if os.path.islink(path) or not (name.startswith("atoll") or name.startswith("libatoll")):
                continue
            with open(path, "rb") as f:
                if f.read(4) == b"\x7fELF":
                    yield path


def faults(path):
    said = subprocess.run(["readelf", "-hldW", path], capture_output=True, text=True, check=True).stdout
    if "DYN (" not in said:
        yield "is not position independent"
    if "GNU_RELRO" not in said:
        yield "has no RELRO"
    stack = [line for line in said.splitlines() if "GNU_STACK" in line]
    if not stack or "E" in stack[0].split()[-2]:
        yield "may execute its stack"
    if os.path.basename(path) not in BARE and "BIND_NOW" not in said and "NOW" not in said:
        yield "binds names late"


found = sorted(elf_files(sys.argv[1]))
bad = [f"{path} {fault}" for path in found for fault in faults(path)]
if len(found) < 9:
    bad.append(f"only {len(found)} programs are there: {' '.join(found)}")
print("\n".join(bad) or f"{len(found)} files are hardened")
sys.exit(1 if bad else 0)
