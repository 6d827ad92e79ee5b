// SPDX-License-Identifier: Apache-2.0
// The escape suite as an operator runs it, `atoll selftest` (README.md): each of its attempts is a case here. And the
// control: outside, the same programs can do what they are refused inside, so a refusal is the wall's doing.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { api, createRaw, envd, killRaw, server, shell } from '../lib/client.mjs'
import { until } from '../lib/host.mjs'

const HERE = path.dirname(fileURLToPath(import.meta.url))
const TABLE = path.join(HERE, 'suite/syscalls.tbl')
const SUITE = path.join(server.buildDir, 'tests/escape/suite')

// The interpreters that sandboxes fork from take a while to get warm; what they bring along is attacked too.
async function warm() {
	await until(
		async () => {
			const sbx = await createRaw()
			const { stdout } = await shell(sbx, 'sleep 0.3; cat /proc/[0-9]*/cmdline', { user: 'root' })
			await killRaw(sbx)
			return stdout.includes('zygote')
		},
		60000,
		500,
	)
}

function selftest() {
	return new Promise((done) => {
		const child = spawn(path.join(server.buildDir, 'src/cli/atoll'), ['selftest', '--json'], {
			stdio: ['ignore', 'pipe', 'pipe'],
			env: { ...process.env, HOST_CANARY: 'x' },
		})
		let out = '',
			err = ''
		child.stdout.on('data', (d) => {
			out += d
		})
		child.stderr.on('data', (d) => {
			err += d
		})
		child.once('close', (code) => done({ code, out, err }))
	})
}

// Deliberately, never by itself: ATOLL_ESCAPE_WRITE=1, by `make escape-table`. The difference is for a reviewer to
// look at.
async function writeTable() {
	const names = (file, prefix = '') =>
		Object.fromEntries(
			[
				...fs
					.readFileSync(`/usr/include/x86_64-linux-gnu/asm/${file}`, 'utf8')
					.matchAll(/^#define __NR_(\w+)\s+(?:\(__X32_SYSCALL_BIT \+ )?(\d+)/gm),
			].map((m) => [m[2], prefix + m[1]]),
		)
	const known = { x86_64: names('unistd_64.h'), i386: names('unistd_32.h'), x32: names('unistd_x32.h') }
	const sbx = await createRaw({ timeout: 300 })
	await envd(sbx, 'POST', '/files?path=/tmp/escape&username=root', fs.readFileSync(path.join(SUITE, 'escape')), {
		headers: { 'Content-Type': 'application/octet-stream' },
	})
	const { stdout } = await shell(sbx, 'chmod 755 /tmp/escape && /tmp/escape sweep --print', { user: 'root' })
	await killRaw(sbx)
	const rows = stdout
		.trim()
		.split('\n')
		.map((l) => l.split(' '))
		.filter((w) => w.length === 3 && w[2] !== 'ENOSYS')
	assert.ok(rows.length > 1000, stdout.slice(-200))
	fs.writeFileSync(
		TABLE,
		'# What a sandbox gets for every number of every ABI, called as root with arguments that mean ' +
			'nothing: ABI NUMBER NAME CLASS.\n' +
			('# What is not here is ENOSYS. Written by `make escape-table`; a number that becomes ' +
				'"allowed" wants a reason in src/engine/seccomp/table.c.\n') +
			rows.map(([abi, nr, what]) => `${abi} ${nr} ${known[abi][nr] ?? '-'} ${what}\n`).join(''),
	)
}

if (process.env.ATOLL_ESCAPE_WRITE) {
	test('the table of system calls is written', writeTable)
} else {
	await warm()
	const run = await selftest()
	let card = null
	try {
		card = JSON.parse(run.out)
	} catch {
		// told below
	}
	for (const r of card?.results ?? []) {
		test(
			`attempt: ${r.name} as ${r.where}: ${r.guarantee}`,
			{ skip: r.result === 'skipped' ? r.detail : false },
			() => {
				assert.equal(r.result, 'held', r.detail)
			},
		)
	}

	test('the scorecard counts what it lists, and the exit status tells whether a wall is broken', () => {
		assert.ok(card, `${run.err}\n${run.out.slice(0, 500)}`)
		assert.ok(card.kinds > 400, `only ${card.kinds} kinds of attempts`)
		assert.equal(card.results.length, card.attempts + card.skipped)
		for (const [key, word] of [
			['held', 'held'],
			['skipped', 'skipped'],
			['unclear', 'unclear'],
			['succeeded', 'BROKEN'],
		])
			assert.equal(card.results.filter((r) => r.result === word).length, card[key])
		assert.equal(run.code, card.succeeded || card.unclear ? 1 : 0, run.err)
	})

	test('no sandbox of the selftest is left', async () => {
		const { json } = await api('GET', '/v2/sandboxes')
		assert.deepEqual(
			json.filter((s) => s.metadata?.purpose === 'atoll selftest'),
			[],
		)
	})
}

test('control: outside, root can do what is refused inside', () => {
	const run = spawnSync(path.join(SUITE, 'escape'), ['control'], { encoding: 'utf8', timeout: 60000 })
	assert.equal(run.status, 0, run.stderr)
	const rows = run.stdout
		.trim()
		.split('\n')
		.map((l) => l.split('\t'))
	assert.ok(rows.length > 40, run.stdout)
	assert.equal(rows.at(-1)[0], 'end')
	assert.deepEqual(
		rows
			.slice(0, -1)
			.filter((r) => r[0] !== 'works')
			.map((r) => `${r[1]}: ${r[3]}`),
		[],
	)
})

test('control: the suite notices a wall that is not there', async () => {
	// The same program where nothing confines it but a pid 1 by the right name: it must say BROKEN, not held. Only
	// attempts that concern nobody but the process that makes them: this is the host.
	const dir = fs.mkdtempSync('/tmp/atoll-escape-control-')
	try {
		const run = spawnSync(
			'unshare',
			[
				'-pfm',
				'--mount-proc',
				'sh',
				'-c',
				'mount -t tmpfs none /dev && mkdir /dev/.atoll && printf init > /proc/1/comm; ' +
					`${SUITE}/escape run spaces; true`,
			],
			{ encoding: 'utf8', timeout: 60000, cwd: dir },
		)
		const broken = run.stdout
			.split('\n')
			.filter((l) => l.startsWith('BROKEN\t'))
			.map((l) => l.split('\t')[1])
		for (const name of [
			'spaces/unshare-user',
			'spaces/unshare-mount',
			'spaces/clone-net',
			'spaces/clone3',
			'spaces/setns-own',
		])
			assert.ok(
				broken.includes(name),
				`${name} is not noticed: ${run.stdout.slice(0, 300)} ${run.stderr}`,
			)
	} finally {
		fs.rmSync(dir, { recursive: true, force: true })
	}
})
