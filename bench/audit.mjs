// SPDX-License-Identifier: Apache-2.0
// What the audit trail costs: the round trip of an execution on a server with it, on one with it and notebooks, and on
// one with neither, in turns, so that all meet the same machine; and how many records a second `atoll audit verify`
// reads.
import crypto from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { newServer } from '../tests/lib/server.mjs'
import { Caller, stats } from './measure.mjs'

const common = { log_level: 'warn', warm_pool_size: 0, default_memory_mb: 1024 }
const SIDES = {
	without: { audit: 'off', notebook_mb: 0 },
	trail: { notebook_mb: 0 },
	both: {},
}
const RECORDS = 200_000

async function begin(buildDir, config) {
	const server = await newServer(buildDir, { ...common, ...config }).start()
	const caller = new Caller(server)
	const made = await caller.call('POST', '/sandboxes', { templateID: 'code-interpreter-v1', timeout: 3600 })
	const sbx = JSON.parse(made.body.toString())
	return {
		server,
		caller,
		samples: [],
		headers: {
			'E2b-Sandbox-Id': sbx.sandboxID,
			'E2b-Sandbox-Port': '49999',
			...(sbx.envdAccessToken && { 'X-Access-Token': sbx.envdAccessToken }),
		},
	}
}

async function execute(side) {
	const began = performance.now()
	const res = await side.caller.call('POST', '/execute', { code: '1+1' }, side.headers)
	side.samples.push(performance.now() - began)
	if (res.status !== 200 || !res.body.toString().includes('"text":"2"'))
		throw new Error(`execute answers ${res.status}: ${res.body.toString().slice(0, 200)}`)
}

// A log as a server leaves it, of that many records.
function longLog(file, n) {
	const key = crypto.randomBytes(32),
		out = fs.openSync(file, 'w')
	let prev = '0'.repeat(64),
		lines = []
	for (let seq = 1; seq <= n; seq++) {
		const body =
			`{"seq":${seq},"time":"2026-01-02T03:04:05.678Z","kind":"code.run",` +
			`"request":"0123456789abcdef","team":"6078eb39-c920-490b-ad01-2353561713fe",` +
			`"key":"f26a15bd-b9c2-4eb1-ab20-7fc10541384a","sandbox":"iw5i5jpc2j887o2m7tc9","session":"",` +
			`"fields":{"code_bytes":12,"sha256":"${prev}","language":"python"},"prev":"${prev}"`
		const hash = crypto.createHash('sha256').update(body).digest()
		prev = hash.toString('hex')
		const mac = crypto.createHmac('sha256', key).update(hash).digest('hex').slice(0, 32)
		lines.push(`${body},"hash":"${prev}","mac":"${mac}"}\n`)
		if (lines.length === 5000 || seq === n) {
			fs.writeSync(out, lines.join(''))
			lines = []
		}
	}
	fs.closeSync(out)
	fs.writeFileSync(`${file}.key`, key, { mode: 0o600 })
}

function verify(buildDir, n) {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-bench-')),
		file = path.join(dir, 'long.jsonl')
	try {
		longLog(file, n)
		const seconds = []
		for (let i = 0; i < 3; i++) {
			const got = spawnSync(
				path.join(buildDir, 'src/cli/atoll'),
				['audit', 'verify', '--key-file', `${file}.key`, file],
				{ encoding: 'utf8' },
			)
			if (got.status !== 0) throw new Error(got.stderr)
			seconds.push(Number(/in ([\d.]+) s/.exec(got.stdout)[1]))
		}
		return { records: n, perSecond: n / Math.max(Math.min(...seconds), 0.01) }
	} finally {
		fs.rmSync(dir, { recursive: true, force: true })
	}
}

export async function audit(buildDir, quick) {
	const names = Object.keys(SIDES),
		sides = {}
	let clean = true
	try {
		for (const name of names) sides[name] = await begin(buildDir, SIDES[name])
		for (let i = 0; i < (quick ? 400 : 3000); i++) {
			for (let k = 0; k < names.length; k++) await execute(sides[names[(i + k) % names.length]])
			if (i < 20)
				names.forEach((name) => {
					sides[name].samples.length = 0
				})
		}
	} finally {
		for (const { server, caller } of Object.values(sides)) {
			caller.close()
			clean = (await server.stop()).clean && clean
		}
	}
	const p10 = (v) => v.toSorted((a, b) => a - b)[Math.floor(v.length / 10)]
	const of = Object.fromEntries(
		names.map((name) => [name, { ...stats(sides[name].samples), p10: p10(sides[name].samples) }]),
	)
	const ratio = (name) => ({ p10: of[name].p10 / of.without.p10, p50: of[name].p50 / of.without.p50 })
	return {
		execute: of,
		trail: ratio('trail'),
		both: ratio('both'),
		verify: verify(buildDir, RECORDS * (quick ? 2 : 5)),
		clean,
	}
}
