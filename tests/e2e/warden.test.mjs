// SPDX-License-Identifier: Apache-2.0
// The warden refuses everything that a taken-over front could send, and keeps serving: tests/warden/torture.c is that
// front.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { api, createRaw, killRaw, outputOf, server, start } from '../lib/client.mjs'
import { newServer } from '../lib/server.mjs'
import { cgroupsOf, childrenOf, commOf, openOf, until } from '../lib/host.mjs'

const built = (file) => path.join(server.buildDir, file)

function templateKey() {
	const cache = process.env.ATOLL_CACHE ?? '/var/cache/atoll'
	const keys = fs.readdirSync(path.join(cache, 'templates')).filter((name) => /^[0-9a-f]{32}$/.test(name))
	assert.ok(keys.length > 0, 'no template is built')
	return keys[0]
}

test('the warden refuses every malformed message and keeps serving', () => {
	const run = spawnSync(
		built('tests/warden/torture'),
		[
			built('src/warden/atolld'),
			built('src/egress/atoll-egress'),
			built('src/agent/atoll-agent'),
			built('src/init/atoll-init'),
			templateKey(),
		],
		{ encoding: 'utf8', timeout: 80000 },
	)
	assert.equal(run.status, 0, `${run.stdout}\n${run.stderr}`)
	assert.match(run.stdout, /ok it keeps serving/)
})

// Each program, and the arguments with which it reads its settings.
const PROGRAMS = [
	['src/front/atoll-front'],
	['src/egress/atoll-egress'],
	['src/agent/atoll-agent'],
	['src/webhooks/atoll-webhooks'],
	['src/oidc/atoll-oidc'],
	['src/refusals/atoll-refusals'],
	['src/oci/atoll-pull', '--settings', '4', '--check'],
]

test('a program refuses the settings of another build and says so', () => {
	const file = path.join(fs.mkdtempSync('/tmp/atoll-settings-'), 'settings')
	try {
		for (const bytes of [0, 8, 100000]) {
			fs.writeFileSync(file, Buffer.alloc(bytes, 1))
			for (const [program, ...args] of PROGRAMS) {
				const fd = fs.openSync(file, 'r')
				const run = spawnSync(built(program), args, {
					encoding: 'utf8',
					timeout: 20000,
					stdio: ['ignore', 'pipe', 'pipe', 'ignore', fd],
				})
				fs.closeSync(fd)
				assert.ok(run.status > 0, `${program}: ${run.status} ${run.stderr}`)
				assert.match(run.stderr, /the settings are of another build of atoll than this program/)
			}
		}
	} finally {
		fs.rmSync(path.dirname(file), { recursive: true })
	}
})

test('programs of an upgrade are for the next server: this one starts those that it began with', async () => {
	const libexec = fs.mkdtempSync('/tmp/atoll-libexec-')
	const pull = path.join(libexec, 'atoll-pull')
	fs.copyFileSync(built('src/oci/atoll-pull'), pull)
	const own = await newServer(server.buildDir, {}, { args: ['--libexec', libexec] }).start()
	const build = () =>
		spawnSync(own.atoll(), ['template', 'build', 'localhost:1/none:1', '-t', 'none'], {
			encoding: 'utf8',
			env: { ...process.env, ...own.env() },
		})
	try {
		const answer = /'localhost:1' leads to .*, which is not a public address/ // only atoll-pull says that
		assert.match(build().stderr, answer)
		fs.rmSync(pull)
		fs.writeFileSync(pull, 'of another build', { mode: 0o755 })
		assert.match(build().stderr, answer)
	} finally {
		await own.stop()
		fs.rmSync(libexec, { recursive: true })
	}
})

test('a second warden on the same state directory is refused, the first goes on', async () => {
	const runDir = fs.mkdtempSync('/tmp/atoll-second-')
	const run = spawnSync(
		built('src/warden/atolld'),
		[
			'--listen',
			'127.0.0.1:0',
			'--state',
			server.stateDir,
			'--run',
			runDir,
			'--template',
			`base=${templateKey()}`,
		],
		{ encoding: 'utf8', timeout: 20000 },
	)
	fs.rmSync(runDir, { recursive: true })
	assert.equal(run.status, 1, run.stderr)
	assert.match(run.stderr, /state directory .* is in use by another atolld/)
	assert.equal((await fetch(`${server.url}/health`)).status, 204)
})

const LIMITS = [
	'memory.limit_in_bytes',
	'memory.memsw.limit_in_bytes',
	'memory.max',
	'pids.max',
	'cpu.shares',
	'cpu.weight',
	'devices.list',
	'cgroup.subtree_control',
]

function limitsOf(parents) {
	return parents
		.flatMap((dir) => LIMITS.map((file) => path.join(dir, file)).filter((file) => fs.existsSync(file)))
		.map((file) => `${file}: ${fs.readFileSync(file, 'utf8').trim()}`)
}

// As a script that cleans up a host would: whoever is in there is moved out of it first.
function removeAll(parents) {
	for (const dir of parents) {
		const below = fs.existsSync(dir)
			? fs
					.readdirSync(dir, { withFileTypes: true })
					.filter((e) => e.isDirectory())
					.map((e) => path.join(dir, e.name))
			: []
		for (const one of [...below, dir]) {
			try {
				for (const pid of fs
					.readFileSync(path.join(one, 'cgroup.procs'), 'utf8')
					.split('\n')
					.filter(Boolean))
					fs.writeFileSync(path.join(dir, '..', 'cgroup.procs'), pid)
				fs.rmdirSync(one)
			} catch {
				// one that ends just then, or a directory that is gone: the next round tells
			}
		}
	}
	return !parents.some((dir) => fs.existsSync(dir))
}

// The directories that the guard has open: it looks through those, and no others.
function seenByGuard(own) {
	const guard = childrenOf(own.pid).find((pid) => commOf(pid) === 'atoll-guard')
	assert.ok(guard, 'there is a guard')
	const dirs = openOf(guard).filter((to) => to.includes(`atoll${own.slot}`))
	assert.ok(dirs.length > 0, 'it sees something')
	return dirs
}

test('the parent cgroup is removed by somebody: it is there again with the next sandbox, with its limits', async () => {
	const own = await newServer(server.buildDir).start()
	const opt = { base: own.url, key: own.key }
	try {
		assert.equal((await killRaw(await createRaw({ timeout: 60 }, opt), opt)).status, 204)
		const parents = cgroupsOf(own.slot).filter((dir) => path.basename(dir) === `atoll${own.slot}`),
			before = limitsOf(parents)
		assert.ok(parents.length > 0 && before.length > 1, before.join(', '))
		for (let round = 0; round < 2; round++) {
			assert.ok(
				await until(() => removeAll(parents), 20000),
				`still there: ${parents.filter((dir) => fs.existsSync(dir))}`,
			)
			const sbx = await createRaw({ timeout: 60 }, opt)
			assert.deepEqual(limitsOf(parents), before)
			assert.deepEqual(
				seenByGuard(own).filter((dir) => dir.includes('(deleted)')),
				[],
				'the guard looks at a cgroup that is gone',
			)
			const run = await start(sbx, 'echo works', { base: own.url })
			await run.ended
			assert.equal(outputOf(run.events), 'works\n')
			assert.equal((await api('POST', `/sandboxes/${sbx.sandboxID}/pause`, {}, opt)).status, 204)
			assert.equal(
				(await api('POST', `/sandboxes/${sbx.sandboxID}/connect`, { timeout: 60 }, opt)).status,
				201,
			)
			assert.equal((await killRaw(sbx, opt)).status, 204)
			assert.ok(
				await until(
					() => !cgroupsOf(own.slot).some((dir) => dir.includes(sbx.sandboxID)),
					10000,
				),
				'its cgroups are left',
			)
		}
	} finally {
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
})
