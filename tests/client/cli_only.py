#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The command line talks to a server through libatoll's public functions and nothing else: it includes atoll.h alone of
# the library, and its objects need no function of libcurl, of our own HTTP code or of the inside of the library. (How
# text is written as JSON or in a URL is no talk. Nor is the child of `atoll template fetch`, a library of its own: it
# gets files from any HTTP server.) Usage: cli_only.py SOURCE_DIR CLI.a CLIENT.a HTTP.a
import glob
import os
import re
import subprocess
import sys


def names(archive, kinds):
    out = subprocess.run(["nm", archive], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in out.splitlines() if line.split()[-2:-1] and line.split()[-2] in kinds}


def main():
    source, cli, client, http = sys.argv[1:]
    bad = []
    fetches = os.path.join(source, "src/cli/packed/source_http.c")
    for path in set(glob.glob(os.path.join(source, "src/cli/**/*.[ch]"), recursive=True)) - {fetches}:
        for line in open(path):
            m = re.match(r'#include ["<]((?:client|http|loop|curl)/[^">]*)', line)
            if m and m.group(1) not in ("client/atoll.h", "http/json.h", "http/url.h"):
                bad.append(f"{path}: includes {m.group(1)}")
    needs = names(cli, "U")
    if len(needs) < 100 or "atoll_new" not in needs:
        bad.append("the objects of the command line cannot be read")
    bad += [f"the command line calls {n}" for n in sorted(needs) if re.match(r"(curl_|nghttp2_|llhttp_|SSL_|uv_)", n)]
    text = re.compile(r"(json|base64|url|query)_")
    inside = {n for n in names(client, "TDBR") if not n.startswith("atoll_")} | names(http, "TDBR")
    bad += [f"the command line calls {n}, which is not public" for n in sorted(needs & inside) if not text.match(n)]
    sys.exit("\n".join(bad) if bad else 0)


main()
