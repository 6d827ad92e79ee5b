// SPDX-License-Identifier: Apache-2.0
// Where the blocks of a page are run: as root on the host, but with files of its own over /etc, /var/lib and
// /usr/local, in a directory of the page's own. The server of the test lies where a server lies that was started
// without options. Variables and the directory that a block leaves are there for the next one, as in a terminal.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawn, spawnSync } from 'node:child_process'
import { newServer } from '../lib/server.mjs'
import { waitForSlots } from '../lib/slots.mjs'
import { TOP } from './blocks.mjs'

const LIMIT_MS = 150_000
const WAIT_MS = 120_000
const RUN_DIR = '/run/atoll/main' // of a server in /var/lib/atoll
const STARTS = /\batolld\b|\bmake (run|demo)\b/ // a block that may start a server
const BLOCK_SLOTS = 2 // most start one; other runs may take a slot meanwhile

const SUDO = `#!/bin/sh
while case $1 in -*) true;; *) false;; esac; do shift; done
exec "$@"
`

// In the shell of a block. Somebody who starts a server in the background looks until it is ready.
const PRELUDE =
	`
ready() { for i in $(seq 600); do curl -fs -o /dev/null "http://$1/health" && return; sleep 0.1; done; echo "the ` +
	`server does not answer" >&2; return 1; }
finish() { rc=$?; set +e; trap - EXIT; export -p >"$VARS.new"; pwd >"$STAGE/cwd"; mv "$VARS.new" "$VARS";` +
	` jobs=$(jobs -p); [ -z "$jobs" ] || { kill $jobs; wait; }; exit $rc; }
[ ! -f "$VARS" ] || . "$VARS"
cd "$(cat "$STAGE/cwd")"
trap finish EXIT
trap 'echo "ended with $?: $BASH_COMMAND" >&2' ERR
set -ea
`

const BEHIND = `
for d in /etc /var/lib /usr/local; do
	mkdir -p "$STAGE/over$d" "$STAGE/work$d"
	mount -t overlay overlay -o "lowerdir=$d,upperdir=$STAGE/over$d,workdir=$STAGE/work$d" "$d"
done
mkdir -p /var/lib/atoll
`

// The directories of a server, where those of one lie that was started without options.
const bind = (state, run) => `mount --bind "${state}" /var/lib/atoll; mount --bind "${run}" ${RUN_DIR}`

// Its server sees its own directories there, too: commands that root runs beside it go by what it calls them.
export function pageServer(buildDir, config) {
	const own = newServer(buildDir, config)
	const over = path.join(own.base, 'over'),
		work = path.join(own.base, 'work')
	for (const dir of [over, work]) fs.mkdirSync(dir)
	fs.mkdirSync(RUN_DIR, { recursive: true })
	own.inside = {
		mounts:
			`mount -t overlay overlay -o lowerdir=/var/lib,upperdir=${over},workdir=${work} /var/lib; ` +
			`mkdir -p /var/lib/atoll; ${bind(own.stateDir, own.runDir)}`,
		state: '/var/lib/atoll',
		run: RUN_DIR,
	}
	return own
}

// What the server has seen as its own is elsewhere.
export function leaveRunDir() {
	if (fs.existsSync(RUN_DIR) && fs.readdirSync(RUN_DIR).length === 0) fs.rmdirSync(RUN_DIR)
}

// The state directory of the server that has this slot; one that stops meanwhile takes the file along.
function ownerOf(file) {
	try {
		return fs.readFileSync(file, 'utf8').trim()
	} catch (err) {
		if (err.code !== 'ENOENT') throw err
		return ''
	}
}

function isTaken() {
	const dir = '/run/atoll/registry'
	const slots = fs.existsSync(dir) ? fs.readdirSync(dir) : []
	return slots.some(
		(slot) =>
			ownerOf(path.join(dir, slot)) === '/var/lib/atoll' &&
			spawnSync('flock', ['-n', path.join(dir, slot), 'true']).status !== 0,
	)
}

// One run at a time has /var/lib/atoll: the lock goes with this process, however it ends.
function takeTurn() {
	const child = spawn(
		'flock',
		['-w', String(WAIT_MS / 1000), '/run/lock/atoll-docs-test', 'sh', '-c', 'echo mine; cat >/dev/null'],
		{ stdio: ['pipe', 'pipe', 'inherit'] },
	)
	return new Promise((done) => {
		child.stdout.once('data', () => {
			child.unref()
			child.stdin.unref()
			child.stdout.destroy()
			done(true)
		})
		child.once('exit', () => done(false))
	})
}

// Why nothing can be tried here: a server of somebody's own in /var/lib/atoll, which is not to be disturbed. Else
// false.
export async function somebodysServer() {
	return (
		(!(await takeTurn()) || isTaken()) &&
		'there is a server in /var/lib/atoll here, where these commands would look for one'
	)
}

export class Stage {
	constructor(page, server, { npm, python }) {
		this.server = server
		this.python = python
		this.dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-docs-'))
		// Its place of /var/tmp: what an earlier run or a person has left there is neither met nor deleted.
		this.tmp = fs.mkdtempSync('/var/tmp/atoll-docs-')
		fs.chmodSync(this.tmp, 0o755)
		this.cwd = path.join(this.dir, 'here')
		const bin = path.join(this.dir, 'bin')
		for (const dir of [this.cwd, bin]) fs.mkdirSync(dir)
		fs.writeFileSync(path.join(bin, 'sudo'), SUDO, { mode: 0o755 })
		for (const [name, file] of [
			['atoll', 'src/cli/atoll'],
			['atolld', 'src/warden/atolld'],
			['atoll-pull', 'src/oci/atoll-pull'],
		])
			fs.symlinkSync(path.join(server.buildDir, file), path.join(bin, name))
		fs.writeFileSync(path.join(this.dir, 'cwd'), this.cwd)
		fs.symlinkSync(server.buildDir, path.join(this.cwd, 'build'))
		fs.cpSync(path.join(TOP, 'examples'), path.join(this.cwd, 'examples'), { recursive: true })
		if (npm) fs.symlinkSync(path.join(npm, 'node_modules'), path.join(this.cwd, 'node_modules'))
		this.env = {
			HOME: this.cwd,
			TERM: 'dumb',
			LANG: 'C.UTF-8',
			STAGE: this.dir,
			PATH:
				`${bin}:${path.dirname(process.execPath)}:${python ? `${python}/bin:` : ''}` +
				`/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
			PKG_CONFIG_PATH: path.join(server.buildDir, 'meson-uninstalled'),
			LD_LIBRARY_PATH: path.join(server.buildDir, 'src/client'),
			// as the library that they are linked with
			...(process.env.ATOLL_TEST_ASAN && { CFLAGS: '-fsanitize=address,undefined' }),
			...(process.env.ATOLL_CACHE && { ATOLL_CACHE: process.env.ATOLL_CACHE }),
		}
	}

	file(name, text) {
		const to = path.join(this.cwd, name)
		fs.mkdirSync(path.dirname(to), { recursive: true })
		fs.writeFileSync(to, text)
	}

	// { code, out }: all that it wrote. A server that a block starts cannot wait for a free instance slot, so this
	// does.
	async shell(script, { alone = false } = {}) {
		if (STARTS.test(script)) await waitForSlots(BLOCK_SLOTS, console.error)
		const own = alone
			? { VARS: path.join(this.dir, 'vars-alone') }
			: { VARS: path.join(this.dir, 'vars'), ...this.server.env() }
		const file = path.join(this.dir, 'block.sh')
		fs.writeFileSync(file, PRELUDE + script.replaceAll('/var/tmp/', `${this.tmp}/`))
		const child = spawn(
			'unshare',
			[
				'-m',
				...(alone ? ['-n'] : []),
				'bash',
				'-ec',
				`${BEHIND}\n` +
					(alone ? 'ip link set lo up' : bind(this.server.stateDir, this.server.runDir)) +
					`\nexec bash "${file}"`,
			],
			{
				env: { ...this.env, ...own },
				stdio: ['ignore', 'pipe', 'pipe'],
				timeout: LIMIT_MS,
				killSignal: 'SIGKILL',
			},
		)
		let out = ''
		for (const from of [child.stdout, child.stderr])
			from.on('data', (part) => {
				out += part
			})
		return new Promise((done) => child.once('close', (code, signal) => done({ code: signal ?? code, out })))
	}

	remove() {
		for (const dir of [this.dir, this.tmp]) fs.rmSync(dir, { recursive: true, force: true })
	}
}
