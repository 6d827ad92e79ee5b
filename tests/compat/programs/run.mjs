// SPDX-License-Identifier: Apache-2.0
// Running whole programs, and seeing from the server what they did.
import path from 'node:path'
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { api, server } from '../../lib/client.mjs'

export const HERE = path.dirname(fileURLToPath(import.meta.url))
export const LIMIT_MS = 200000

// Runs a program to its end; onText sees all of its output so far whenever there is more.
export function run(command, args, { env = process.env, onText = () => {} } = {}) {
	return new Promise((done) => {
		const child = spawn(command, args, { env, timeout: LIMIT_MS, killSignal: 'SIGKILL' })
		let text = ''
		const more = (part) => {
			text += part
			onText(text)
		}
		child.stdout.on('data', more)
		child.stderr.on('data', more)
		child.once('close', (code, signal) => done({ code: signal ?? code, text }))
	})
}

// What the program has done to the server, by the server's own count.
export async function counts(of = server) {
	const { text } = await api('GET', '/metrics', undefined, { base: of.url, key: of.key })
	const sum = (pattern) => [...text.matchAll(pattern)].reduce((all, [, n]) => all + Number(n), 0)
	return {
		started: sum(/^atoll_sandbox_create_seconds_count (\d+)/gm),
		code: sum(/^atoll_proxy_requests_total\{port="interpreter",outcome="ok"\} (\d+)/gm),
		other: sum(/^atoll_proxy_requests_total\{port="envd",outcome="ok"\} (\d+)/gm),
		h2: sum(/^atoll_http2_requests_total (\d+)/gm),
	}
}

// The same by the records: pieces of code in the audit trail, each with its end, and sandboxes in the usage report.
export async function records(of = server) {
	const get = (where) => api('GET', where, undefined, { base: of.url, key: of.key })
	const lines = async (kind) =>
		(await get(`/audit?kind=${kind}&last=1000`)).text
			.trim()
			.split('\n')
			.filter(Boolean)
			.map((line) => JSON.parse(line))
	const usage = (await get('/usage?by=key')).json
	return {
		begun: (await lines('code.run')).map((r) => r.request),
		ended: (await lines('code.done')).map((r) => r.request),
		sandboxes: usage.rows.reduce((all, row) => all + row.sandboxes, 0),
	}
}
