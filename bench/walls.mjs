// SPDX-License-Identifier: Apache-2.0
// What the walls cost: programs that make many system calls, in a sandbox as it is and in the same sandbox without the
// system call filter; and with --against DIR, creating and executing against another build (that of an earlier commit).
// In turns, so that both meet the same machine.
//
// Without the filter there is no way through the API: here root of the host enters the sandbox's namespaces and cgroups
// itself, as no process of the server does.
import fs from 'node:fs'
import path from 'node:path'
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { createRaw, endOf, envd, killRaw, outputOf, stream } from '../tests/lib/client.mjs'
import { initsOf, Caller, stats } from './measure.mjs'
import { coldConfig } from './interp.mjs'
import { serverOf } from './versus.mjs'

export const CONFIG = { log_level: 'warn', default_disk_mb: 1024, warm_pool_size: 0 }
const PROGRAM = path.join(path.dirname(fileURLToPath(import.meta.url)), 'walls.py')
const REPO = '/home/user/repo'
const FILES = 10000
const USER = 1000
const CLEAN = ['env', '-i', 'PATH=/usr/local/bin:/usr/bin:/bin', 'HOME=/home/user', 'LANG=C']

const LOADS = [
	[`git status, ${FILES.toLocaleString('en')} files`, ['git', '-C', REPO, 'status', '--porcelain']],
	['find /usr', ['find', '/usr', '-newer', '/etc/hostname']],
]

async function inside(server, sbx, argv) {
	const run = await stream(
		sbx,
		'process.Process/Start',
		{ process: { cmd: argv[0], args: argv.slice(1), cwd: '/home/user' }, stdin: false },
		{ base: server.url, user: 'user' },
	)
	await run.ended
	if (endOf(run.events)?.exitCode) throw new Error(`${argv.join(' ')}: ${outputOf(run.events, 'stderr')}`)
	return outputOf(run.events)
}

// Every hierarchy of the machine in which that process has a place.
function groupsOf(pid) {
	const mounts = fs
		.readFileSync('/proc/self/mountinfo', 'utf8')
		.split('\n')
		.map((line) => /^\S+ \S+ \S+ \S+ (\S+) .* - (cgroup2?) \S+ (\S+)$/.exec(line))
		.filter(Boolean)
	return fs
		.readFileSync(`/proc/${pid}/cgroup`, 'utf8')
		.trim()
		.split('\n')
		.flatMap((line) => {
			const [, names, at] = line.match(/^\d+:([^:]*):(.*)$/)
			const m = mounts.find(([, , type, options]) =>
				names
					? type === 'cgroup' &&
						names.split(',').every((n) => options.split(',').includes(n))
					: type === 'cgroup2',
			)
			return m && at !== '/' ? [path.join(m[1], at, 'cgroup.procs')] : []
		})
}

function unfiltered(pid, argv) {
	const enter = [
		'nsenter',
		'-t',
		String(pid),
		'-U',
		'-m',
		'-p',
		'-i',
		'-n',
		'-u',
		'-C',
		'--setuid',
		String(USER),
		'--setgid',
		String(USER),
		'--',
		...argv,
	]
	const script = 'for f in $GROUPS_FILES; do echo $$ >$f; done; exec "$@"'
	return new Promise((done, fail) =>
		execFile(
			'sh',
			['-c', script, 'sh', ...enter],
			{ env: { PATH: process.env.PATH, GROUPS_FILES: groupsOf(pid).join(' ') } },
			(why, stdout, stderr) => (why ? fail(new Error(`${why.message}: ${stderr}`)) : done(stdout)),
		),
	)
}

async function prepare(server, sbx) {
	const put = await envd(sbx, 'POST', '/files?path=/tmp/walls.py&username=user', fs.readFileSync(PROGRAM), {
		base: server.url,
		headers: { 'Content-Type': 'application/octet-stream' },
	})
	if (put.status !== 200) throw new Error(`upload of the program: ${put.status}`)
	await inside(server, sbx, [
		'sh',
		'-c',
		`mkdir -p ${REPO} && cd ${REPO} && for d in $(seq ${FILES / 100}); do mkdir d$d && (cd d$d && for f ` +
			`in $(seq 100); do echo $d.$f >f$f; done); done &&
		git init -q && git add . && git -c user.name=a -c user.email=a@b commit ` +
			`-qm all && git status >/dev/null`,
	])
}

async function loads(server, quick) {
	const sbx = await createRaw({ timeout: 3600 }, { base: server.url, key: server.key })
	const parts = []
	await prepare(server, sbx)
	const [pid] = initsOf(server)
	for (const [name, command] of LOADS) {
		const argv = [...CLEAN, 'python3', '/tmp/walls.py', '3', ...command]
		const took = { walled: [], bare: [] }
		let filters
		for (let i = 0; i <= (quick ? 8 : 20); i++) {
			const turns = [
				['walled', () => inside(server, sbx, argv)],
				['bare', () => unfiltered(pid, argv)],
			]
			for (const [side, run] of i % 2 ? turns : turns.reverse()) {
				const got = JSON.parse(await run())
				if (got.filters > 0 !== (side === 'walled'))
					throw new Error(`${side} has ${got.filters} filters`)
				filters = side === 'walled' ? got.filters : filters
				if (i > 0)
					// the first fills caches
					took[side].push(...got.runs)
			}
		}
		const of = (side, what) => stats(took[side].map((r) => r[what] * 1000))
		const best = (side) => Math.min(...took[side].map((r) => r.wall))
		parts.push({
			name,
			filters,
			cpu: { walled: of('walled', 'cpu'), bare: of('bare', 'cpu') },
			wall: { walled: of('walled', 'wall'), bare: of('bare', 'wall') },
			ratio: of('bare', 'cpu').p50 / of('walled', 'cpu').p50,
			wallRatio: best('bare') / best('walled'),
		})
	}
	await killRaw(sbx, { base: server.url, key: server.key })
	return parts
}

// --- against another build ---

async function answer(caller, status, ...call) {
	const res = await caller.call(...call)
	if (res.status !== status)
		throw new Error(`${call[1]} answers ${res.status}: ${res.body.toString().slice(0, 200)}`)
	return res.body.toString()
}

async function oneRound(side) {
	const began = performance.now()
	const sbx = JSON.parse(
		await answer(side.caller, 201, 'POST', '/sandboxes', {
			templateID: 'code-interpreter-v1',
			timeout: 600,
		}),
	)
	side.create.push(performance.now() - began)
	const headers = {
		'E2b-Sandbox-Id': sbx.sandboxID,
		'E2b-Sandbox-Port': '49999',
		...(sbx.envdAccessToken && { 'X-Access-Token': sbx.envdAccessToken }),
	}
	const execute = () => answer(side.caller, 200, 'POST', '/execute', { code: '1+1' }, headers)
	await execute()
	for (let i = 0; i < 10; i++) {
		const at = performance.now()
		await execute()
		side.execute.push(performance.now() - at)
	}
	await answer(side.caller, 204, 'DELETE', `/sandboxes/${sbx.sandboxID}`)
}

// A tenth of all is quicker than p10: what it takes when nobody else is in the way.
function quiet(samples) {
	return { ...stats(samples), p10: [...samples].sort((a, b) => a - b)[Math.floor(samples.length / 10)] }
}

export async function against(buildDir, otherDir, quick) {
	const sides = []
	let clean = true
	try {
		for (const dir of [buildDir, otherDir]) {
			const server = serverOf(dir, coldConfig)
			await server.start()
			sides.push({ server, caller: new Caller(server), create: [], execute: [] })
		}
		for (let i = 0; i <= (quick ? 20 : 100); i++) {
			for (const side of i % 2 ? sides : sides.toReversed()) await oneRound(side)
			if (i < 3)
				sides.forEach((s) => {
					s.create.length = s.execute.length = 0
				})
		}
	} finally {
		for (const { server, caller } of sides) {
			caller.close?.()
			clean = (await server.stop()).clean && clean
		}
	}
	const [ours, theirs] = sides.map((s) => ({ create: quiet(s.create), execute: quiet(s.execute) }))
	const ratio = (what) => ({ p10: ours[what].p10 / theirs[what].p10, p50: ours[what].p50 / theirs[what].p50 })
	return { ours, theirs, clean, create: ratio('create'), execute: ratio('execute') }
}

export async function walls(server, quick) {
	return { parts: await loads(server, quick) }
}
