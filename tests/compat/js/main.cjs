// SPDX-License-Identifier: Apache-2.0
// Tries every capability with the packages of one directory: node main.cjs DIRECTORY. One line of JSON for each:
// {id, outcome: "yes" | "no" | "none" (the client has no such call), why}.
const { createRequire } = require('node:module')
const fs = require('node:fs')
const http = require('node:http')
const https = require('node:https')
const path = require('node:path')

const LIMIT_MS = 45000
const load = createRequire(path.join(path.resolve(process.argv[2]), 'package.json'))

class Absent extends Error {}

class Client {
	core = load('e2b')
	code = load('@e2b/code-interpreter')
	source = fs.readFileSync(load.resolve('e2b'), 'utf8')
	mark = `js-${process.pid}-${Date.now()}`
	made = []

	// Skips a capability whose call this client does not have.
	needs(...calls) {
		if (calls.some((call) => typeof call !== 'function')) throw new Absent()
	}

	// The same for what is an option and no call: a word that must occur in the client's source.
	knows(word) {
		if (!this.source.includes(word)) throw new Absent()
	}

	async create(opt = {}, module = this.core, template = module === this.core ? 'base' : undefined) {
		const all = { timeoutMs: 300000, ...opt }
		const sbx = template ? await module.Sandbox.create(template, all) : await module.Sandbox.create(all)
		this.made.push(sbx)
		return sbx
	}

	// One sandbox of each kind for all that does not change it.
	shell() {
		return (this.forCommands ??= this.create())
	}

	interpreter() {
		return (this.forCode ??= this.create({ envs: { GIVEN: 'at creation' } }, this.code))
	}

	// By host name where names lead here, else by sending the name to the server's address.
	fetch(url, { method = 'GET', body, headers = {} } = {}) {
		const to = new URL(url)
		const direct = process.env.E2B_DOMAIN || to.hostname === '127.0.0.1'
		const via = direct ? to : new URL(process.env.E2B_API_URL)
		const lib = via.protocol === 'https:' ? https : http
		return new Promise((done, fail) => {
			const req = lib.request(
				{
					host: via.hostname,
					port: via.port,
					method,
					path: to.pathname + to.search,
					agent: false,
					headers: { ...headers, Host: to.host },
				},
				(res) => {
					let text = ''
					res.setEncoding('utf8')
					res.on('data', (part) => {
						text += part
					})
					res.on('end', () => done({ status: res.statusCode, text }))
				},
			)
			req.once('error', fail)
			req.end(body)
		})
	}

	async until(holds, what, ms = 15000) {
		for (const end = Date.now() + ms; Date.now() < end;) {
			const got = await holds()
			if (got) return got
			await new Promise((done) => setTimeout(done, 50))
		}
		throw new Error(`${what}: not within ${ms} ms`)
	}
}

async function attempt(run, client) {
	let timer
	const late = new Promise((_, fail) => {
		timer = setTimeout(fail, LIMIT_MS, new Error(`nothing after ${LIMIT_MS} ms`))
	})
	try {
		await Promise.race([run(client), late])
		return { outcome: 'yes' }
	} catch (err) {
		if (err instanceof Absent) return { outcome: 'none' }
		return {
			outcome: 'no',
			why: String(err?.stack ?? err)
				.split('\n')
				.slice(0, 6)
				.join('\n'),
		}
	} finally {
		clearTimeout(timer)
	}
}

async function main() {
	const client = new Client()
	const all = ['sandbox', 'commands', 'files', 'code', 'git'].flatMap((name) =>
		Object.entries(require(`./${name}.cjs`)),
	)
	const version = (name) => load(`${name}/package.json`).version
	console.log(
		JSON.stringify({
			versions: { e2b: version('e2b'), '@e2b/code-interpreter': version('@e2b/code-interpreter') },
		}),
	)
	for (const [id, run] of all) console.log(JSON.stringify({ id, ...(await attempt(run, client)) }))
	await Promise.all(client.made.map((sbx) => sbx.kill().catch(() => {})))
	process.exit(0)
}

main().catch((err) => {
	console.error(err)
	process.exit(1)
})
