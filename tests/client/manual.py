#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Each function of atoll.h is in a manual page of section 3 with the arguments that it has, and no page has one that
# there is not.
# Usage: manual.py HEADER PAGE...
import re
import sys


def prototypes(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    found = re.findall(r"^(?!typedef)[a-z][\w \*]*?\b(atoll_\w+)\(([^;{]*)\);", text, flags=re.M)
    return {name: " ".join(args.split()) for name, args in found}


def documented(pages):
    found = {}
    for page in pages:
        for name, args in re.findall(r"^\.Fo (\w+)\n((?:\.Fa .*\n)+)\.Fc", open(page).read(), flags=re.M):
            found[name] = ", ".join(a.strip('"') for a in re.findall(r"^\.Fa (.*)$", args, flags=re.M))
    return found


def main():
    want, have = prototypes(open(sys.argv[1]).read()), documented(sys.argv[2:])
    bad = [f"{n} is in no manual page" for n in sorted(want.keys() - have.keys())]
    bad += [f"{n} is in a manual page, but not in the header" for n in sorted(have.keys() - want.keys())]
    bad += [
        f"{n}({want[n]}) is ({have[n]}) in its manual page"
        for n in sorted(want.keys() & have.keys())
        if want[n] != have[n]
    ]
    sys.exit("\n".join(bad) if bad else 0)


main()
