# SPDX-License-Identifier: Apache-2.0
"""Runs a command some times and prints JSON: its processor time and its time, each run. Inside a sandbox, filtered or
not: walls.mjs."""

import json
import resource
import subprocess
import sys
import time

rounds, command = int(sys.argv[1]), sys.argv[2:]
out = []
for _ in range(rounds):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    out.append({"wall": wall, "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime})
with open("/proc/self/status") as f:
    filters = next(line.split()[1] for line in f if line.startswith("Seccomp_filters"))
print(json.dumps({"runs": out, "filters": int(filters)}))
