// SPDX-License-Identifier: Apache-2.0
// Others on the same machine, with the same interpreter and libraries: the files of the template. Each function
// returns { name: { ... } }, or the reason why that peer cannot be measured.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const HERE = path.dirname(fileURLToPath(import.meta.url))
export const IMPORTS = 'import IPython, numpy, pandas, matplotlib.pyplot; print(1+1)'
const INSTALL_MS = 300000
const SAY_MS = 60000

export function has(command) {
	return spawnSync('sh', ['-c', `command -v ${command}`], { stdio: 'ignore' }).status === 0
}

const lastLine = (text) => text.trim().split('\n').at(-1)

// Runs a program to its end; the time in ms. An error if it does not print 2.
function once(command, args) {
	const began = performance.now()
	const run = spawnSync(command, args, { encoding: 'utf8' })
	const ms = performance.now() - began
	if (run.status !== 0 || run.stdout.trim() !== '2')
		throw new Error(`${command}: ${lastLine(run.stderr || run.error?.message || run.stdout)}`)
	return ms
}

// A read-only view of the template: no peer may change it. It ends with the mount namespace of the measurement.
export function viewOf(rootfs) {
	const view = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-bench-view-'))
	for (const args of [
		['--bind', rootfs, view],
		['-o', 'remount,bind,ro', view],
	]) {
		const run = spawnSync('mount', args, { encoding: 'utf8' })
		if (run.status !== 0) throw new Error(lastLine(run.stderr))
	}
	return view
}

export function dropView(view) {
	spawnSync('umount', [view])
	fs.rmdirSync(view)
}

// bubblewrap with the template as a read-only root, every namespace it can unshare, and nothing of the host.
export function bwrap(view, code) {
	const args = `--tmpfs /tmp --tmpfs /root --proc /proc --dev /dev --unshare-all --die-with-parent --clearenv
		--setenv PATH /usr/bin:/bin --setenv HOME /root --setenv MPLBACKEND agg --`.split(/\s+/)
	return () => once('bwrap', ['--ro-bind', view, '/', ...args, 'python3', '-c', code])
}

// Releases since 2026 look for helper programs beside runsc, which a build from the Go module proxy does not have.
const NO_HELPERS = '--sidecar-usage-policy=LEGACY_DEPRECATED_SLOW_EMBEDDED_FALLBACK'

export function runsc(program, view) {
	const flags = spawnSync(program, ['flags'], { encoding: 'utf8' }).stdout ?? ''
	const more = flags.includes('sidecar-usage-policy') ? [NO_HELPERS] : []
	const args = ['--network=none', '--ignore-cgroups', ...more, 'do', '--root', view, '--']
	return () => once(program, [...args, '/usr/bin/python3', '-c', IMPORTS])
}

function podmanArgs(runtime, view, ...more) {
	const rootfs = ['--rootfs', `${view}:O`]
	return ['--runtime', runtime, 'run', '--rm', '--network', 'none', '--pids-limit=-1', ...more, ...rootfs]
}

// crun, or what Debian has besides, since crun refuses hosts with both versions of cgroups.
export function podman(view) {
	const tried = []
	for (const runtime of ['crun', 'runc'].filter(has)) {
		const args = podmanArgs(runtime, view)
		try {
			once('podman', [...args, 'python3', '-c', 'print(1+1)'])
			return { runtime, first: () => once('podman', [...args, 'python3', '-c', IMPORTS]) }
		} catch (err) {
			tried.push(`${runtime}: ${err.message}`)
		}
	}
	return { skipped: tried.join('; ') || 'neither crun nor runc is installed' }
}

// A container that stays, and a command in it.
export function podmanCommand(runtime, view) {
	const args = podmanArgs(runtime, view, '--detach')
	const run = spawnSync('podman', [...args, 'sleep', '3600'], { encoding: 'utf8' })
	if (run.status !== 0) return { skipped: lastLine(run.stderr) }
	const id = run.stdout.trim()
	return {
		run: () => {
			const began = performance.now()
			const exec = spawnSync('podman', ['exec', id, 'bash', '-l', '-c', 'true'], { encoding: 'utf8' })
			if (exec.status !== 0) throw new Error(lastLine(exec.stderr))
			return performance.now() - began
		},
		close: () => spawnSync('podman', ['rm', '-f', '-t', '0', id]),
	}
}

// A kernel as Jupyter starts it: a process of its own, reached over ZeroMQ.
const KERNEL = `
import sys, time
from jupyter_client.manager import start_new_kernel
manager = None
print("ready", flush=True)
for line in sys.stdin:
    if line == "start\\n":
        if manager:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
        t = time.perf_counter()
        manager, client = start_new_kernel(kernel_name="python3")
        code = sys.argv[1]
    else:
        t = time.perf_counter()
        code = "1+1"
    client.execute_interactive(code, output_hook=lambda m: None, timeout=60)
    print((time.perf_counter() - t) * 1000, flush=True)
if manager:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
`

// It is installed in a copy-on-write view of the template.
const INSTALL = `
set -eu
mount -t tmpfs none "$1"
mkdir "$1/up" "$1/work" "$1/root"
mount -t overlay none -o "lowerdir=$2,upperdir=$1/up,workdir=$1/work" "$1/root"
mount -t proc none "$1/root/proc"
mount --rbind /dev "$1/root/dev"
cp /etc/resolv.conf "$1/root/etc/"
printf %s "$KERNEL" >"$1/root/kernel.py"
cp -r /etc/apt/apt.conf.d/. "$1/root/etc/apt/apt.conf.d/"
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive MPLBACKEND=agg
{
	chroot "$1/root" apt-get -q update
	chroot "$1/root" apt-get -q -y --no-install-recommends install python3-ipykernel
} >"$1/log" 2>&1 </dev/null || { tail -n 1 "$1/log" >&2; exit 9; }
exec chroot "$1/root" python3 /kernel.py "$3"
`

// Jupyter's kernel in a mount namespace of its own, which takes the view with it when it ends.
export class Kernel {
	async open(rootfs) {
		this.dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-bench-'))
		const how = ['--mount', '--pid', '--fork', '--kill-child', 'bash', '-c', INSTALL, 'bash']
		this.child = spawn('unshare', [...how, this.dir, rootfs, IMPORTS], {
			env: { ...process.env, KERNEL },
			stdio: ['pipe', 'pipe', 'pipe'],
		})
		this.child.stdin.on('error', () => {})
		this.said = ''
		this.child.stderr.on('data', (part) => (this.said += part))
		this.over = new Promise((done) => this.child.once('close', done))
		this.lines = createInterface(this.child.stdout)[Symbol.asyncIterator]()
		await this.line(INSTALL_MS)
		return this
	}

	async line(ms) {
		const timer = setTimeout(() => this.child.kill('SIGKILL'), ms)
		const { value, done } = await this.lines.next()
		clearTimeout(timer)
		if (done) throw new Error(`ipykernel: ${lastLine(this.said) || 'ended'}`)
		return value
	}

	async say(word) {
		this.child.stdin.write(`${word}\n`)
		return Number(await this.line(SAY_MS))
	}

	async close() {
		this.child.stdin.end()
		await this.over
		fs.rmdirSync(this.dir)
	}
}

// A server in Go that copies the body of a request into a file with io.Copy, as E2B's envd does. It writes to the
// storage of that server, without an overlay and without a proxy before it.
export class GoCopy {
	async open(server, folder) {
		this.dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-bench-go-'))
		const program = path.join(this.dir, 'io_copy')
		const made = spawnSync('go', ['build', '-o', program, path.join(HERE, 'io_copy.go')], {
			encoding: 'utf8',
			env: { ...process.env, CGO_ENABLED: '0', GO111MODULE: 'off' },
		})
		if (made.status !== 0) throw new Error(`go: ${lastLine(made.stderr || made.error?.message)}`)
		this.child = spawn('nsenter', ['--mount', '--target', server.pid, program, folder], {
			stdio: ['ignore', 'pipe', 'inherit'],
		})
		this.over = new Promise((done) => this.child.once('close', done))
		this.port = await new Promise((done, fail) => {
			createInterface(this.child.stdout).once('line', (line) => done(Number(line)))
			this.over.then(() => fail(new Error('io_copy ended')))
		})
		return this
	}

	async close(folder) {
		spawnSync('nsenter', ['--mount', '--target', this.child.pid, 'rm', '-rf', folder])
		this.child.kill()
		await this.over
		fs.rmSync(this.dir, { recursive: true })
	}
}
