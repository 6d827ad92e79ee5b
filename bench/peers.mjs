// SPDX-License-Identifier: Apache-2.0
// What others take to the first Python result, on the same machine, with the same interpreter and libraries: the
// files of the template.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { stats } from './measure.mjs'

const IMPORTS = 'import IPython, numpy, pandas, matplotlib.pyplot; print(1+1)'

// A kernel as Jupyter starts it: a process of its own, reached over ZeroMQ. It is installed in a copy-on-write view
// of the template.
const KERNEL = `
import sys, time
from jupyter_client.manager import start_new_kernel
for i in range(int(sys.argv[1])):
    t = time.perf_counter()
    manager, client = start_new_kernel(kernel_name="python3")
    client.execute_interactive(sys.argv[2], output_hook=lambda m: None, timeout=60)
    print((time.perf_counter() - t) * 1000, flush=True)
    u = []
    for j in range(20):
        t = time.perf_counter()
        client.execute_interactive("1+1", output_hook=lambda m: None, timeout=60)
        u.append((time.perf_counter() - t) * 1000)
    print("trip", sorted(u)[10], flush=True)
    client.stop_channels()
    manager.shutdown_kernel(now=True)
`

function has(command) {
	return spawnSync('sh', ['-c', `command -v ${command}`], { stdio: 'ignore' }).status === 0
}

function timesOf(n, command, args) {
	const samples = []
	for (let i = 0; i < n + 1; i++) {
		const began = performance.now()
		const run = spawnSync(command, args, { encoding: 'utf8' })
		const ms = performance.now() - began
		if (run.status !== 0 || run.stdout.trim() !== '2') {
			const said = (run.stderr || run.error?.message || run.stdout).trim()
			return { skipped: `${command}: ${said.split('\n').at(-1)}` }
		}
		if (i > 0) samples.push(ms)
	}
	return stats(samples)
}

// bubblewrap with the template as a read-only root, every namespace it can unshare, and nothing of the host.
function bwrap(rootfs, n, code) {
	if (!has('bwrap')) return { skipped: 'bubblewrap is not installed' }
	return timesOf(n, 'bwrap', [
		'--ro-bind',
		rootfs,
		'/',
		'--tmpfs',
		'/tmp',
		'--tmpfs',
		'/root',
		'--proc',
		'/proc',
		'--dev',
		'/dev',
		'--unshare-all',
		'--die-with-parent',
		'--clearenv',
		'--setenv',
		'PATH',
		'/usr/bin:/bin',
		'--setenv',
		'HOME',
		'/root',
		'--setenv',
		'MPLBACKEND',
		'agg',
		'--',
		'python3',
		'-c',
		code,
	])
}

function runsc(rootfs, n) {
	if (!has('runsc')) return { skipped: 'runsc is not installed' }
	return timesOf(n, 'runsc', [
		'--network=none',
		'--ignore-cgroups',
		'do',
		'--root',
		rootfs,
		'--',
		'/usr/bin/python3',
		'-c',
		IMPORTS,
	])
}

// In a mount namespace of its own, which takes the view with it when it ends.
function ipykernel(rootfs, n) {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-bench-'))
	const script = `
set -eu
mount -t tmpfs none "$1"
mkdir "$1/up" "$1/work" "$1/root"
mount -t overlay none -o "lowerdir=$2,upperdir=$1/up,workdir=$1/work" "$1/root"
mount -t proc none "$1/root/proc"
mount --rbind /dev "$1/root/dev"
cp /etc/resolv.conf "$1/root/etc/"
cat >"$1/root/kernel.py"
cp -r /etc/apt/apt.conf.d/. "$1/root/etc/apt/apt.conf.d/"
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive MPLBACKEND=agg
{
	chroot "$1/root" apt-get -q update
	chroot "$1/root" apt-get -q -y --no-install-recommends install python3-ipykernel
} >"$1/log" 2>&1 || { tail -3 "$1/log" >&2; exit 9; }
chroot "$1/root" python3 /kernel.py "$3" "$4"
`
	const run = spawnSync(
		'unshare',
		['--mount', '--pid', '--fork', '--kill-child', 'bash', '-c', script, 'bash', dir, rootfs, n, IMPORTS],
		{ input: KERNEL, encoding: 'utf8', timeout: 600000 },
	)
	fs.rmdirSync(dir)
	if (run.status !== 0)
		return { skipped: `ipykernel: ${(run.stderr || run.error?.message || '').trim().split('\n').at(-1)}` }
	const lines = run.stdout.trim().split('\n')
	return {
		...stats(lines.filter((l) => !l.startsWith('trip')).map(Number)),
		trip: stats(lines.filter((l) => l.startsWith('trip')).map((l) => Number(l.split(' ')[1]))),
	}
}

export function peers(rootfs, quick) {
	const n = quick ? 3 : 10
	return {
		bwrapBare: bwrap(rootfs, n, 'print(1+1)'),
		bwrap: bwrap(rootfs, n, IMPORTS),
		ipykernel: ipykernel(rootfs, quick ? 2 : 5),
		runsc: runsc(rootfs, n),
	}
}
