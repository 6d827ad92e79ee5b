// SPDX-License-Identifier: Apache-2.0
// A server works the same whoever starts it: by sudo, su, systemd, cron, ssh or as the first process of a container,
// and with programs that only their owner may read. Each way is reproduced with what it hands on: limits, masks,
// signals, files, environment.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { execFileSync, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { server } from '../lib/client.mjs'
import { freePort, newServer } from '../lib/server.mjs'
import { openOf } from '../lib/host.mjs'

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..')
const SYS_RESOURCE = 1n << 24n
const canRaise =
	(BigInt(`0x${/^CapEff:\s+(\w+)/m.exec(fs.readFileSync('/proc/self/status', 'utf8'))[1]}`) & SYS_RESOURCE) !== 0n
const USER = { name: 'atoll-someone', uid: 64999 }
const FEW = { pool_size_mb: 256, pool_max_mb: 512 }

// What a program in a sandbox can tell of who started its server.
const LOOK =
	`
import json, os, resource, signal
names = [n for n in dir(resource) if n.startswith("RLIMIT_")]
status = dict(l.split(":\\t") for l in open("/proc/self/status").read().splitlines() if ":\\t" in l)
umask = os.umask(0o22)
print(json.dumps({"limits": {n: resource.getrlimit(getattr(resource, n)) for n in names}, "umask": umask, "nice": ` +
	`os.nice(0),
	"oom": open("/proc/1/oom_score_adj").read().strip(), "nnp": status["NoNewPrivs"], "inherited": ` +
	`status["CapInh"], "ambient": status["CapAmb"],
	"machine": os.uname().machine, "policy": os.sched_getscheduler(0),
	"env": [k for k in os.environ if k.startswith(("HOST_", "SUDO_", "BASH_", "PERL", "TMPDIR"))]}))
`

function look(of) {
	const run = spawnSync(path.join(server.buildDir, 'src/cli/atoll'), ['run', '--state', of.stateDir, '-'], {
		input: LOOK,
		encoding: 'utf8',
		timeout: 120000,
	})
	assert.equal(run.status, 0, `${run.stderr}\n${run.stdout}`)
	return JSON.parse(run.stdout)
}

let usual

function compare(seen) {
	usual ??= look(server)
	const { CORE, ...limits } = Object.fromEntries(
		Object.entries(seen.limits).map(([name, value]) => [name.replace('RLIMIT_', ''), value]),
	)
	const { CORE: one, ...wanted } = Object.fromEntries(
		Object.entries(usual.limits).map(([name, value]) => [name.replace('RLIMIT_', ''), value]),
	)
	if (canRaise) {
		assert.deepEqual(limits, wanted)
		assert.deepEqual(CORE, one)
	} else {
		assert.ok(CORE[0] <= 1 && CORE[1] <= 1, `limit of core files: ${CORE}`)
	}
	assert.deepEqual({ ...seen, limits: {} }, { ...usual, limits: {} })
}

async function tryStart(by, { config = {}, build = server.buildDir, check = () => {} } = {}) {
	const own = newServer(build, { ...FEW, ...config }, { by })
	try {
		await own.start()
	} catch (err) {
		own.discard()
		throw err
	}
	try {
		compare(look(own))
		await check(own)
	} finally {
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
}

// Files of /etc that know an ordinary user who may use sudo as Debian sets it up, in mounts of our own.
function withUser(dir) {
	const etc = (name, more, mode) => {
		fs.writeFileSync(path.join(dir, name), fs.readFileSync(`/etc/${name}`, 'utf8') + more, { mode })
		fs.chmodSync(path.join(dir, name), mode)
		return `mount --bind ${path.join(dir, name)} /etc/${name}\n`
	}
	return (
		etc('passwd', `${USER.name}:x:${USER.uid}:${USER.uid}::${dir}/home:/bin/sh\n`, 0o644) +
		etc('shadow', `${USER.name}:*:19000:0:99999:7:::\n`, 0o600) +
		etc('group', `${USER.name}:x:${USER.uid}:\n`, 0o644) +
		etc('sudoers', `${USER.name} ALL=(ALL) NOPASSWD: ALL\n`, 0o440)
	)
}

// A clone of that user with a finished build; what make would build is there already.
function cloneOf(dir) {
	const clone = path.join(dir, 'clone')
	fs.mkdirSync(path.join(clone, 'build'), { recursive: true })
	fs.mkdirSync(path.join(dir, 'home'))
	for (const name of ['Makefile', 'scripts', 'examples/first', 'templates', 'runtimes'])
		fs.cpSync(path.join(ROOT, name), path.join(clone, name), { recursive: true })
	fs.symlinkSync(path.join(server.buildDir, 'src'), path.join(clone, 'build/src'))
	fs.writeFileSync(path.join(clone, 'build/build.ninja'), 'build all: phony\n')
	execFileSync('chown', ['-hR', `${USER.uid}:${USER.uid}`, clone, path.join(dir, 'home')])
	fs.chmodSync(dir, 0o755)
	return clone
}

test('E0, E4: an ordinary user runs make demo, which uses sudo', async () => {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-sudo-'))
	try {
		const clone = cloneOf(dir),
			port = await freePort()
		// Not npm's own work: it says who runs it, and that it cannot; then the sample is that of the command
		// line.
		fs.writeFileSync(path.join(dir, 'npm'), '#!/bin/sh\nid -u >ran-as\nexit 1\n', { mode: 0o755 })
		const npm = fs.realpathSync(execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim())
		fs.mkdirSync(path.join(clone, 'build/demo')) // as an earlier version left it: root's
		const run = spawnSync(
			'unshare',
			[
				'-m',
				'sh',
				'-ec',
				`${withUser(dir)}mount --bind ${dir}/npm ${npm}
			cd ${clone}
			exec setpriv --reuid ${USER.uid} --regid ${USER.uid} --clear-groups env -i HOME=${dir}/home ` +
					`USER=${USER.name} PATH=/usr/local/bin:/usr/bin:/bin \
				make demo STATE=${dir}/state RUN=${dir}` +
					`/run LISTEN=127.0.0.1:${port}`,
			],
			{ encoding: 'utf8', timeout: 150000 },
		)
		assert.equal(run.status, 0, `${run.stdout}\n${run.stderr}`)
		assert.match(run.stdout, /hello from Python 3/)
		assert.equal(fs.readFileSync(path.join(clone, 'build/demo/ran-as'), 'utf8').trim(), String(USER.uid))
		assert.equal(execFileSync('find', [clone, '-not', '-user', String(USER.uid)], { encoding: 'utf8' }), '')
	} finally {
		fs.rmSync(dir, { recursive: true, force: true })
	}
})

test('E0: by sudo, with its limit of core files, from a directory that is gone', async () => {
	const gone = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-gone-'))
	await tryStart(
		{ before: ['sudo'], script: `cd ${gone}; rmdir ${gone}; ulimit -Hc | grep -qx 0\n` },
		{ check: (own) => assert.equal(fs.readlinkSync(`/proc/${own.pid}/cwd`), '/') },
	)
})

test('E0: by su, with a PATH, variables and a umask of a user', async () => {
	const env = {
		PATH: '/usr/bin:/bin',
		HOME: '/nonexistent',
		TMPDIR: '/nonexistent',
		BASH_ENV: '/nonexistent',
		PERL5OPT: '-Mnonexistent',
		LC_ALL: 'xx_XX',
	}
	await tryStart(
		{ before: ['su', '-m', 'root', '-s', '/bin/sh', '-c', 'umask 077; exec "$0" "$@"', '--'], env },
		{
			check: (own) => {
				for (const [name, mode] of [
					[own.stateDir, 0o755],
					[path.join(own.stateDir, 'key'), 0o600],
					[path.join(own.stateDir, 'front'), 0o700],
				])
					assert.equal(fs.statSync(name).mode & 0o777, mode, name)
				assert.doesNotMatch(
					fs.readFileSync(`/proc/${own.pid}/environ`, 'utf8'),
					/PERL5OPT|TMPDIR|BASH_ENV/,
				)
			},
		},
	)
})

test('E0: by systemd, with the limits, capabilities and signals of a strict unit', async () => {
	await tryStart({
		env: { PATH: '/usr/bin', LANG: 'C.UTF-8', INVOCATION_ID: 'x' },
		before: [
			'prlimit',
			'--core=0:0',
			'--memlock=65536:65536',
			'--nproc=4000:4000',
			'--fsize=unlimited',
			'--stack=1048576:unlimited',
			'--nofile=1024:8192',
			'setpriv',
			'--inh-caps',
			'+net_bind_service,+sys_ptrace',
			'--ambient-caps',
			'+net_bind_service',
			'--groups',
			'4,24',
			'--',
			'choom',
			'-n',
			'500',
			'--',
			'env',
			'--ignore-signal=PIPE',
			'--ignore-signal=CHLD',
			'--block-signal=TERM',
		],
	})
})

test('E0: by cron, in the background of all others, and E5: with programs of a umask of 077', async () => {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-closed-')) /* mode 0700 */
	const build = path.join(dir, 'build')
	try {
		fs.cpSync(path.join(server.buildDir, 'src'), path.join(build, 'src'), {
			recursive: true,
			filter: (name) => !/\.(p|a)$/.test(name),
		})
		execFileSync('chmod', ['-R', 'go=', build])
		await tryStart(
			{
				env: { PATH: '/usr/bin:/bin', HOME: '/root', LOGNAME: 'root', SHELL: '/bin/sh' },
				before: ['setsid', '-w', 'nice', '-n', '10', 'ionice', '-c', '3', 'chrt', '-b', '0'],
				script: 'umask 077\n',
			},
			{ build },
		)
	} finally {
		fs.rmSync(dir, { recursive: true, force: true })
	}
})

test('E0: by ssh, with files left open, another personality and a terminal that hangs up', async () => {
	await tryStart(
		{
			before: ['setarch', '-R', '--32bit', 'env', '--ignore-signal=HUP'],
			script: 'exec 7</etc/passwd 9>/dev/null\n',
		},
		{
			check: (own) =>
				assert.ok(
					!openOf(own.pid).includes('/etc/passwd'),
					'it holds what it was started with',
				),
		},
	)
})

test('E0: as the first process of a container with closed stdio and few files', async () => {
	const zombies = () =>
		fs
			.readdirSync('/proc')
			.filter((pid) => /^\d+$/.test(pid) && /^State:\s+Z/m.test(status(pid)) && inside(pid))
	let init
	const status = (pid) => {
		try {
			return fs.readFileSync(`/proc/${pid}/status`, 'utf8')
		} catch {
			return ''
		}
	}
	const inside = (pid) => new RegExp(`^PPid:\\s+${init}$`, 'm').test(status(pid))
	await tryStart(
		{
			silent: true,
			before: ['unshare', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'],
			script: 'ulimit -n 4096\nexec <&- >&- 2>&-\n',
		},
		{
			check: (own) => {
				init = Number(/^PPid:\s+(\d+)/m.exec(status(own.pid))[1])
				assert.match(status(init), /^NSpid:.*\t1$/m)
				assert.deepEqual(zombies(), []) /* of helpers whose parents are gone */
			},
		},
	)
})

test('E0: where the limit of core files stays 0 and a program of the host gets cores, doctor and server say so', () => {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-core-'))
	try {
		fs.writeFileSync(path.join(dir, 'pattern'), '|/usr/share/apport/apport\n')
		const there = (...words) =>
			spawnSync(
				'unshare',
				[
					'-m',
					'sh',
					'-ec',
					`mount --bind ${dir}/pattern /proc/sys/kernel/core_pattern; ulimit -c 0
			exec setpriv --bounding-set=-sys_resource -- "$0" "$@"`,
					path.join(server.buildDir, 'src/cli/atoll'),
					...words,
				],
				{ encoding: 'utf8', timeout: 60000 },
			)
		const start = JSON.parse(there('doctor', '--json').stdout).checks.find(
			(check) => check.name === 'start',
		)
		assert.equal(start.status, 'fail')
		assert.match(start.remedy, /rlimit_core/)
		const run = there(
			'serve',
			'--state',
			path.join(dir, 'state'),
			'--run',
			path.join(dir, 'run'),
			'--listen',
			'127.0.0.1:0',
		)
		assert.equal(run.status, 1, run.stdout)
		assert.match(run.stderr, /start: the hard limit for core files is 0/)
	} finally {
		fs.rmSync(dir, { recursive: true, force: true })
	}
})

test('E5: make install gives everybody the programs, whatever the umask', () => {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-install-'))
	try {
		const run = spawnSync(
			'sh',
			[
				'-ec',
				`umask 077; exec meson install -C ${server.buildDir} --no-rebuild --quiet --destdir ` +
					`${dir}`,
			],
			{ encoding: 'utf8' },
		)
		assert.equal(run.status, 0, run.stderr + run.stdout)
		const [top] = fs.readdirSync(dir)
		assert.equal(
			execFileSync('find', [path.join(dir, top), '-not', '-type', 'l', '-not', '-perm', '-o+r'], {
				encoding: 'utf8',
			}),
			'',
		)
		const places = execFileSync(
			'find',
			[
				dir,
				'-type',
				'f',
				'(',
				'-name',
				'atoll',
				'-o',
				'-name',
				'atolld',
				'-o',
				'-name',
				'atoll-front',
				')',
				'-perm',
				'-o+x',
			],
			{ encoding: 'utf8' },
		)
		const programs = places
			.trim()
			.split('\n')
			.map((file) => path.dirname(file))
		assert.equal(new Set(programs).size, 2, places) // where commands are, and where helpers are
		assert.equal(
			execFileSync(
				'find',
				[...new Set(programs), '-maxdepth', '1', '-type', 'f', '-not', '-perm', '-o+x'],
				{ encoding: 'utf8' },
			),
			'',
		)
		assert.equal(
			execFileSync('find', [path.join(dir, top), '-type', 'd', '-not', '-perm', '-o+x'], {
				encoding: 'utf8',
			}),
			'',
		)
	} finally {
		fs.rmSync(dir, { recursive: true, force: true })
	}
})
