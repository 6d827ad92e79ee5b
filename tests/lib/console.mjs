// SPDX-License-Identifier: Apache-2.0
// A browser at the console, as far as HTTP goes: it stores the session cookie and sends it with the console's header.
import assert from 'node:assert/strict'
import { request, server } from './client.mjs'

export class Visitor {
	constructor({ base = server.url, send = request } = {}) {
		this.base = base
		this.send = send
		this.cookie = undefined
	}

	// headers: undefined ones are left out
	async ask(method, path, body, { headers = {}, cookie = this.cookie } = {}) {
		const all = { 'X-Atoll-Console': '1', 'Sec-Fetch-Site': 'same-origin', Cookie: cookie, ...headers }
		const some = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
		const res = await this.send(method, path, { body, headers: some, base: this.base })
		for (const line of [res.headers['set-cookie'] ?? []].flat()) {
			const [pair, ...rest] = line.split('; ')
			this.cookie = rest.includes('Max-Age=0') ? undefined : pair
			this.attributes = rest
		}
		return res
	}

	async login(body) {
		const res = await this.ask('POST', '/console/api/login', body)
		assert.equal(res.status, 200, res.text)
		return res
	}

	async session() {
		return await this.ask('GET', '/console/api/session')
	}

	get token() {
		return this.cookie.split('=')[1]
	}
}
