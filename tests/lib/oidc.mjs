// SPDX-License-Identifier: Apache-2.0
// OpenID providers: a real one (oidc-provider, which the OpenID Foundation has certified), and one that says what a
// test wants.
import crypto from 'node:crypto'
import http from 'node:http'
import https from 'node:https'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { Visitor } from './console.mjs'

const CLIENT = { client_id: 'atoll', client_secret: 'a secret of : two parts' }
export { CLIENT }

function listen(server) {
	return new Promise((done) => server.listen(0, '127.0.0.1', () => done(server.address().port)))
}

function newKey(alg, kid) {
	const [kind, options] = alg.startsWith('ES')
		? ['ec', { namedCurve: 'P-256' }]
		: ['rsa', { modulusLength: 2048, publicExponent: 65537 }]
	const { privateKey } = crypto.generateKeyPairSync(kind, options)
	return { ...privateKey.export({ format: 'jwk' }), kid, alg, use: 'sig' }
}

async function library() {
	const file = path.join(process.env.ATOLL_TEST_NPM, 'node_modules/oidc-provider/lib/index.js')
	const warn = console.warn
	console.warn = () => {} // about the version of Node
	try {
		return (await import(pathToFileURL(file).href)).default
	} finally {
		console.warn = warn
	}
}

const END = '<button form="op.logoutForm" name="logout" value="yes">End it</button>'
const form = (uid) =>
	`<!doctype html><title>Provider</title><form method="post" action="/interaction/${uid}">` +
	`<label>User <input name="user"></label><button>Continue</button></form>`

// accounts: { name: claims }; all of them log in by their name alone.
export class RealProvider {
	constructor(accounts) {
		this.accounts = accounts
		this.n = 0
		this.requests = []
	}

	async start() {
		this.server = http.createServer((req, res) => {
			this.requests.push(`${req.method} ${req.url.split('?')[0]}`)
			void this.serve(req, res)
		})
		this.issuer = `http://127.0.0.1:${await listen(this.server)}`
		return this
	}

	// Also after a while: with other keys, and nothing remembered.
	async configure(consoleUrl, { alg = 'RS256', auth = 'client_secret_basic' } = {}) {
		const Provider = await library()
		const info = console.info
		console.info = () => {}
		this.provider = new Provider(this.issuer, {
			clients: [
				{
					...CLIENT,
					redirect_uris: [`${consoleUrl}/console/oidc`],
					post_logout_redirect_uris: [`${consoleUrl}/console/`],
					grant_types: ['authorization_code'],
					response_types: ['code'],
					id_token_signed_response_alg: alg,
					token_endpoint_auth_method: auth,
				},
			],
			jwks: { keys: [newKey(alg, `k${++this.n}`), newKey('RS256', `also${this.n}`)] },
			cookies: { keys: ['secret of cookies'] },
			claims: {
				openid: ['sub'],
				email: ['email', 'email_verified'],
				profile: ['name'],
				groups: ['groups'],
			},
			scopes: ['openid', 'email', 'profile', 'groups'],
			pkce: { required: () => true },
			features: {
				devInteractions: { enabled: false },
				rpInitiatedLogout: {
					enabled: true,
					logoutSource: (ctx, text) => {
						ctx.body = `<!doctype html><title>Provider</title>${text}${END}`
					},
				},
			},
			interactions: { url: (ctx, { uid }) => `/interaction/${uid}` },
			findAccount: (ctx, id) =>
				this.accounts[id] && {
					accountId: id,
					claims: () => ({ sub: id, ...this.accounts[id] }),
				},
			loadExistingGrant: async ({ oidc }) => {
				const grant = new oidc.provider.Grant({
					clientId: oidc.client.clientId,
					accountId: oidc.session.accountId,
				})
				grant.addOIDCScope('openid email profile groups')
				await grant.save()
				return grant
			},
			ttl: { Session: 600, Interaction: 600, Grant: 600, AccessToken: 600, IdToken: 600 },
		})
		console.info = info
	}

	async serve(req, res) {
		if (!req.url.startsWith('/interaction/')) return void this.provider.callback()(req, res)
		const parts = []
		for await (const part of req) parts.push(part)
		if (req.method === 'GET') {
			res.setHeader('Content-Type', 'text/html')
			return void res.end(form(req.url.split('/')[2]))
		}
		const accountId = new URLSearchParams(Buffer.concat(parts).toString()).get('user')
		await this.provider.interactionFinished(req, res, { login: { accountId } })
	}

	// What a browser does between the two halves: returns the words of the address that it is sent back to.
	async authorize(url, user) {
		const jar = new Map()
		const go = async (to, options = {}) => {
			const res = await fetch(to, {
				redirect: 'manual',
				headers: { Cookie: [...jar].map(([k, v]) => `${k}=${v}`).join('; ') },
				...options,
			})
			for (const line of res.headers.getSetCookie()) {
				const [name, ...value] = line.split(';')[0].split('=')
				jar.set(name, value.join('='))
			}
			return res
		}
		let at = url
		for (let i = 0; i < 10; i++) {
			let res = await go(at)
			if (res.status === 200)
				res = await go(at, {
					method: 'POST',
					body: new URLSearchParams({ user }),
				})
			const to = res.headers.get('location')
			if (!to) throw new Error(`the provider answered ${res.status}: ${await res.text()}`)
			at = new URL(to, this.issuer).href
			if (!at.startsWith(this.issuer)) return Object.fromEntries(new URL(at).searchParams)
		}
		throw new Error('the provider goes round in circles')
	}

	stop() {
		this.server.closeAllConnections()
		return new Promise((done) => this.server.close(done))
	}
}

const b64 = (value) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

// Says what it is told to say: document, keys, and the answer to a code.
export class FakeProvider {
	async start({ tls } = {}) {
		const make = tls ? (fn) => https.createServer(tls, fn) : (fn) => http.createServer(fn)
		this.server = make((req, res) => {
			this.asked.push(req.url)
			const [status, body, headers = {}] = this.answer(req.url)
			res.writeHead(status, { 'Content-Type': 'application/json', ...headers })
			res.end(typeof body === 'string' ? body : JSON.stringify(body))
		})
		this.port = await listen(this.server)
		this.issuer = `${tls ? 'https' : 'http'}://127.0.0.1:${this.port}`
		this.key = newKey('RS256', 'k')
		this.reset()
		return this
	}

	reset() {
		this.asked = []
		this.document = {
			issuer: this.issuer,
			authorization_endpoint: `${this.issuer}/auth`,
			token_endpoint: `${this.issuer}/token`,
			jwks_uri: `${this.issuer}/keys`,
		}
		const { kty, n, e, kid } = this.key
		this.keys = { keys: [{ kty, n, e, kid, use: 'sig' }] }
		this.tokens = {}
		this.more = {}
	}

	answer(url) {
		if (this.more[url]) return this.more[url]
		if (url === '/.well-known/openid-configuration') return [200, this.document]
		if (url === '/keys') return [200, this.keys]
		if (url === '/token') return [200, this.tokens]
		return [404, {}]
	}

	claims(more = {}) {
		const now = Math.floor(Date.now() / 1000)
		return {
			iss: this.issuer,
			sub: 'subject',
			aud: CLIENT.client_id,
			iat: now,
			exp: now + 300,
			email: 'ada@example.com',
			email_verified: true,
			groups: ['ops'],
			...more,
		}
	}

	sign(claims, header = {}, key = this.key) {
		const text = `${b64({ alg: 'RS256', kid: 'k', typ: 'JWT', ...header })}.${b64(claims)}`
		const secret = crypto.createPrivateKey({ key, format: 'jwk' })
		return `${text}.${crypto.sign('sha256', Buffer.from(text), secret).toString('base64url')}`
	}

	unsigned(claims, header, signature = '') {
		return `${b64(header)}.${b64(claims)}.${signature}`
	}

	hmac(claims, secret) {
		const text = `${b64({ alg: 'HS256', kid: 'k' })}.${b64(claims)}`
		return `${text}.${crypto.createHmac('sha256', secret).update(text).digest('base64url')}`
	}

	get publicPem() {
		return crypto.createPublicKey({ key: this.key, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
	}

	stop() {
		this.server.closeAllConnections()
		return new Promise((done) => this.server.close(done))
	}
}

// The first half: a visitor, and where the server sends it.
export async function beginLogin(server, from) {
	const v = new Visitor({ base: server.url, ...(from && { send: from }) })
	const res = await v.ask('POST', '/console/api/oidc/begin', {})
	return { v, res, ...(res.json ?? {}) }
}

export const newRsaKey = () => newKey('RS256', 'k')
