#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# What programs that were built with libatoll depend on: the names it exports with their versions, the sizes of its
# public structs, and the values of its enums, against the list in abi.txt. What is gone or differs fails, as does a
# name that is exported and that the header does not have. What is new and in the header is only told. After a change
# that is meant, and before a release: abi.py --write LIBRARY HEADER, and look at the difference.
import os
import re
import subprocess
import sys
import tempfile

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "abi.txt")


def symbols(library):
    out = subprocess.run(
        ["nm", "-D", "--defined-only", "--with-symbol-versions", library], capture_output=True, text=True, check=True
    ).stdout
    names = [line.split()[2] for line in out.splitlines() if len(line.split()) == 3 and line.split()[1] != "A"]
    return [f"symbol {name.replace('@@', '@')}" for name in names]


def types(header):
    text = re.sub(r"/\*.*?\*/", "", open(header).read(), flags=re.S)
    structs = re.findall(r"^struct (\w+) \{", text, flags=re.M)
    enums = [
        name
        for body in re.findall(r"^enum \w+ \{(.*?)\}", text, flags=re.M | re.S)
        for name in re.findall(r"\b(ATOLL_\w+)", body)
    ]
    lines = [f'printf("struct {name} %zu\\n", sizeof(struct {name}));' for name in structs]
    lines += [f'printf("enum {name} %d\\n", (int){name});' for name in enums]
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "abi.c"), os.path.join(folder, "abi")
        with open(source, "w") as f:
            f.write(
                f'#include <stdio.h>\n#include "{os.path.abspath(header)}"\nint main(void) {{\n'
                + "\n".join(lines)
                + "\nreturn 0;\n}\n"
            )
        subprocess.run([os.environ.get("CC", "cc"), "-std=gnu17", source, "-o", program], check=True)
        return subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()


# A struct that callers fill begins with its size, so that a later version may have more of it. These are not filled
# by them, or never get more.
GIVEN_BACK = {
    "atoll_code_error",
    "atoll_error",
    "atoll_execution",
    "atoll_failure",
    "atoll_pair",
    "atoll_result",
    "atoll_session",
    "atoll_verdict",
}


def without_size(header):
    text = re.sub(r"typedef[^;]*;", "", re.sub(r"/\*.*?\*/", "", open(header).read(), flags=re.S))
    structs = dict(re.findall(r"^struct (\w+) \{(.*?)^\};", text, flags=re.M | re.S))
    taken = set(re.findall(r"const struct (\w+) \*\w*[,)]", text)) & set(structs) - GIVEN_BACK
    return sorted(name for name in taken if not structs[name].split(";")[0].split() == ["size_t", "size"])


def main():
    args = [a for a in sys.argv[1:] if a != "--write"]
    if len(args) != 2:
        sys.exit("usage: abi.py [--write] LIBRARY HEADER")
    have = sorted(symbols(args[0]) + types(args[1]))
    foreign = [line for line in have if line.startswith("symbol ") and not line.startswith("symbol atoll_")]
    if foreign:
        sys.exit(f"exported, and not ours to export: {foreign}")
    if without_size(args[1]):
        sys.exit(f"filled by callers, and without their size in front: {without_size(args[1])}")
    if "--write" in sys.argv:
        with open(LIST, "w") as f:
            f.write(f"# x86-64. Written by abi.py --write; see there.\n" + "\n".join(have) + "\n")
        return
    want = [line.rstrip("\n") for line in open(LIST) if not line.startswith("#")]
    gone, new = sorted(set(want) - set(have)), sorted(set(have) - set(want))
    text = open(args[1]).read()
    stray = [
        line
        for line in new
        if line.startswith("symbol ") and not re.search(r"\b" + line[7:].split("@")[0] + r"\(", text)
    ]
    for line in gone:
        print(f"- {line}")
    for line in new:
        print(f"+ {line}")
    if gone or stray:
        sys.exit("the ABI of libatoll has changed. If that is meant: tests/client/abi.py --write " + " ".join(args))


main()
