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
