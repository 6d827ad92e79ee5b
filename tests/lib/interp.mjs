// SPDX-License-Identifier: Apache-2.0
// The code interpreter by plain HTTP: contexts, and executions as the list of their events.
import http from 'node:http'
import { envd, routeHeaders, server } from './client.mjs'

export const INTERPRETER_PORT = '49999'

export function interp(sbx, method, path, body, base = server.url) {
	return envd(sbx, method, path, body, { port: INTERPRETER_PORT, base })
}

// Starts an execution. Resolves with the head of the answer; `events` fills up, each with the time it came.
export function startCode(sbx, code, opt = {}, base = server.url) {
	const url = new URL(base)
	return new Promise((done, fail) => {
		const req = http.request({
			host: url.hostname,
			port: url.port,
			method: 'POST',
			path: '/execute',
			agent: false,
			headers: { ...routeHeaders(sbx, INTERPRETER_PORT), 'Content-Type': 'application/json' },
		})
		req.once('error', fail)
		req.once('response', (res) => {
			const self = { status: res.statusCode, raw: '', events: [], close: () => req.destroy() }
			const began = performance.now()
			let rest = ''
			self.ended = new Promise((over) => {
				res.once('end', () => over(res.complete))
				res.once('close', () => over(res.complete))
				res.once('error', () => over(false))
			})
			res.setEncoding('latin1') // the stream is ASCII; a byte above would show
			res.on('data', (part) => {
				self.raw += part
				if (res.statusCode !== 200) return
				const lines = (rest + part).split('\n')
				rest = lines.pop()
				self.events.push(
					...lines.map((line) => ({
						...JSON.parse(line),
						at: performance.now() - began,
					})),
				)
			})
			done(self)
		})
		req.end(JSON.stringify({ code, ...opt }))
	})
}

// Runs code to its end: text of the main result, all results, joined output, error, count.
export async function runCode(sbx, code, opt, base) {
	const began = performance.now()
	const run = await startCode(sbx, code, opt, base)
	const complete = await run.ended
	const of = (type) => run.events.filter((e) => e.type === type)
	const results = of('result')
	return {
		status: run.status,
		body: run.raw,
		complete,
		events: run.events,
		ms: performance.now() - began,
		results,
		text: results.find((r) => r.is_main_result)?.text,
		stdout: of('stdout').map((e) => e.text),
		stderr: of('stderr').map((e) => e.text),
		error: of('error')[0],
		errors: of('error').length,
		count: of('number_of_executions')[0]?.execution_count,
		last: run.events.at(-1)?.type,
	}
}
