// SPDX-License-Identifier: Apache-2.0
// Log-in through an OpenID provider: a real one, and one that lies.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { api, request, server as shared } from '../lib/client.mjs'
import { Visitor } from '../lib/console.mjs'
import { childrenOf, nameOf, until } from '../lib/host.mjs'
import { beginLogin, CLIENT, FakeProvider, newRsaKey, RealProvider } from '../lib/oidc.mjs'
import { newServer } from '../lib/server.mjs'

const ROLES = 'user:eve@example.com=viewer, group:ops=admin, group:dev=member@oidc-team, group:lost=member@no-such-team'
const ACCOUNTS = {
	ada: { email: 'ada@example.com', email_verified: true, groups: ['x', 'ops'] },
	dev: { email: 'dev@example.com', email_verified: true, groups: ['dev'] },
	eve: { email: 'eve@example.com', email_verified: true, groups: ['ops'] },
	bob: { email: 'bob@example.com', email_verified: true, groups: ['sales'] },
	mal: { email: 'ada@example.com', email_verified: false, groups: ['ops'] },
	lost: { email: 'lost@example.com', email_verified: true, groups: ['lost'] },
}

let real, fake, server, liar, team

async function serverFor(issuer, more = {}) {
	const one = newServer(
		shared.buildDir,
		{
			oidc_issuer: issuer,
			oidc_client_id: CLIENT.client_id,
			oidc_roles: ROLES,
			oidc_scopes: 'openid email groups',
			oidc_name: 'Example ID',
			...more,
		},
		{ args: ['--restart-max-ms', '50'] },
	)
	const secret = path.join(one.base, 'secret')
	fs.writeFileSync(secret, `${CLIENT.client_secret}\n`, { mode: 0o600 })
	one.config.oidc_client_secret_file = secret
	return await one.start()
}

before(async () => {
	real = await new RealProvider(ACCOUNTS).start()
	fake = await new FakeProvider().start()
	server = await serverFor(real.issuer)
	liar = await serverFor(fake.issuer)
	await real.configure(server.url)
	team = (await api('POST', '/admin/teams', { name: 'oidc-team' }, { key: server.key, base: server.url })).json
})
after(async () => {
	const left = []
	for (const one of [server, liar]) if (one?.pid) left.push(await one.stop())
	await real?.stop()
	await fake?.stop()
	assert.ok(left.every((l) => l.clean))
})

async function answered(user, at = server) {
	const begun = await beginLogin(at)
	assert.equal(begun.res.status, 200, begun.res.text)
	return { ...begun, words: await real.authorize(begun.url, user) }
}

function finish({ v, ticket, words }, more = {}) {
	return v.ask('POST', '/console/api/oidc/finish', { ticket, ...words, ...more })
}

async function loggedIn(user) {
	const one = await answered(user)
	const res = await finish(one)
	assert.equal(res.status, 200, res.text)
	return one.v
}

const statusOf = (pid) =>
	Object.fromEntries(
		fs
			.readFileSync(`/proc/${pid}/status`, 'utf8')
			.split('\n')
			.map((line) => line.split(/:\s*/, 2)),
	)
const program = (one) => childrenOf(one.pid).find((pid) => nameOf(pid) === 'atoll-oidc')

test('a user of the provider logs in, as what the rules say, and out', async () => {
	const ways = await new Visitor({ base: server.url }).ask('GET', '/console/api/login')
	assert.deepEqual(ways.json, { apiKey: true, oidc: { name: 'Example ID' } })
	const one = await answered('ada')
	const asked = new URL(one.url).searchParams
	assert.equal(asked.get('code_challenge_method'), 'S256')
	assert.equal(asked.get('redirect_uri'), `${server.url}/console/oidc`)
	assert.ok(!one.res.text.includes(asked.get('nonce') + '"'), 'the nonce is in the URL and the ticket only')
	assert.equal(one.words.iss, real.issuer)
	const res = await finish(one)
	assert.equal(res.status, 200, res.text)
	assert.deepEqual(one.v.attributes, ['Path=/', 'HttpOnly', 'SameSite=Strict'])
	const me = await one.v.session()
	assert.equal(me.json.role, 'admin')
	assert.equal(me.json.user, 'ada@example.com')
	assert.equal(me.json.key, null)
	const life = Date.parse(me.json.expiresAt) - Date.now()
	assert.ok(life > 3500e3 && life <= 3600e3, `${life}`)
	assert.equal((await one.v.ask('GET', '/admin/teams')).status, 200)
	assert.equal((await one.v.ask('POST', '/console/api/links', {})).status, 403)

	const out = await one.v.ask('POST', '/console/api/logout')
	assert.equal(out.json.ended, true)
	const end = new URL(out.json.url)
	assert.equal(end.origin, real.issuer)
	assert.equal(end.searchParams.get('post_logout_redirect_uri'), `${server.url}/console/`)
	assert.equal((await one.v.session()).status, 401)
	const trail = await api('GET', '/admin/audit?kind=console.login', undefined, {
		key: server.key,
		base: server.url,
	})
	assert.match(trail.text, /"user": ?"ada@example.com"/)
})

test('a member sees the team of the rule, a viewer may only look', async () => {
	const dev = await loggedIn('dev')
	const me = await dev.session()
	assert.deepEqual([me.json.role, me.json.team.id], ['member', team.teamID])
	assert.equal((await dev.ask('GET', '/admin/teams')).status, 403)
	assert.equal(
		(await dev.ask('GET', '/v2/sandboxes', undefined, { headers: { 'X-Team-ID': 'default' } })).status,
		403,
	)
	const made = await dev.ask('POST', '/sandboxes', { templateID: 'base', timeout: 60 })
	assert.equal(made.status, 201, made.text)
	const eve = await loggedIn('eve') // the first rule counts, not the highest
	assert.equal((await eve.session()).json.role, 'viewer')
	assert.equal((await eve.ask('POST', '/sandboxes', { templateID: 'base' })).status, 403)
	assert.equal((await eve.ask('GET', '/v2/sandboxes')).json.length, 0) // of the default team
	assert.equal((await dev.ask('DELETE', `/sandboxes/${made.json.sandboxID}`)).status, 204)
})

test('who has no role, no verified address, or a team that is gone, does not get in', async () => {
	for (const [user, text] of [
		['bob', /no role/],
		['mal', /not verified/],
		['lost', /no-such-team/],
	]) {
		const one = await answered(user)
		const res = await finish(one)
		assert.equal(res.status, 403, res.text)
		assert.match(res.json.message, text)
		assert.equal(one.v.cookie, undefined)
	}
})

test('a code works once, in the tab that began', async () => {
	const one = await answered('ada')
	const other = await answered('ada')
	const refused = [
		[{ state: 'x'.repeat(32) }, /another log-in/],
		[{ state: other.words.state }, /another log-in/],
		[{ ticket: other.ticket }, /another log-in/],
		[{ ticket: `${one.ticket.slice(0, -8)}AAAAAAAA` }, /not begun here/],
		[{ ticket: '' }, /not begun here/],
		[{ ticket: 'A'.repeat(4000) }, /not begun here/],
		[{ iss: 'https://evil.example' }, /another OpenID provider/],
		[{ iss: null }, /another OpenID provider/],
		[{ code: 'made-up' }, /invalid_grant/],
	]
	let from = 20
	const send = (method, to, opt) => request(method, to, { ...opt, from: `127.0.0.${from}` })
	for (const [more, text] of refused) {
		from++ // each wrong one makes its address wait
		one.v.send = send
		const res = await finish(one, more)
		assert.equal(res.status, 401, res.text)
		assert.match(res.json.message, text)
	}
	for (const more of [
		{ code: '' },
		{ code: 'a\u0001' },
		{ code: 'x'.repeat(5000) },
		{ state: 7 },
		{ code: undefined },
	]) {
		const res = await finish(one, more)
		assert.equal(res.status, 400, JSON.stringify(more))
	}
	// PKCE: a code of another log-in with one's own ticket
	from++
	assert.match((await finish(one, { code: other.words.code })).text, /invalid_grant/)
	from++
	assert.equal((await finish(one)).status, 200)
	from++
	const again = await finish(one)
	assert.equal(again.status, 401, again.text)
	assert.match(again.json.message, /invalid_grant/)
})

test('only pages of the console may begin and finish', async () => {
	const v = new Visitor({ base: server.url })
	for (const to of ['begin', 'finish'])
		for (const headers of [
			{ 'X-Atoll-Console': undefined },
			{ 'Sec-Fetch-Site': 'cross-site' },
			{ Origin: 'http://evil.example' },
		])
			assert.equal((await v.ask('POST', `/console/api/oidc/${to}`, {}, { headers })).status, 403)
	const host = await v.ask('POST', '/console/api/oidc/begin', {}, { headers: { Host: 'a"b' } })
	assert.equal(host.status, 400)
	const none = new Visitor()
	assert.equal((await none.ask('GET', '/console/api/login')).json.oidc, null)
	assert.equal((await none.ask('POST', '/console/api/oidc/begin', {})).status, 404)
})

test('new keys and other signatures of the provider are taken at once', async () => {
	for (const [alg, auth] of [
		['ES256', 'client_secret_post'],
		['PS256', 'client_secret_basic'],
		['RS256', 'client_secret_basic'],
	]) {
		await real.configure(server.url, { alg, auth })
		const before = real.requests.filter((r) => r === 'GET /jwks').length
		/* an unknown key makes the keys be fetched again, but not within five seconds of the last time */
		assert.ok(
			await until(async () => (await finish(await answered('ada'))).status === 200, 30000),
			`${alg}: nobody can log in`,
		)
		assert.equal(real.requests.filter((r) => r === 'GET /jwks').length, before + 1)
	}
})

/* --- a provider that lies --- */

let nth = 0

// One log-in with the tokens that make(nonce) returns.
async function lie(make) {
	const { v, url, ticket, res } = await beginLogin(liar)
	assert.equal(res.status, 200, res.text)
	const asked = new URL(url).searchParams
	fake.tokens = make(asked.get('nonce'))
	v.send = (method, to, opt) => request(method, to, { ...opt, from: `127.0.1.${++nth}` })
	return await v.ask('POST', '/console/api/oidc/finish', { ticket, state: asked.get('state'), code: 'c' })
}

test('a token of another key, client, time or log-in is refused', async () => {
	const token =
		(claims, ...how) =>
		(nonce) => ({ id_token: fake.sign(fake.claims({ nonce, ...claims }), ...how) })
	const now = Math.floor(Date.now() / 1000)
	const good = await lie(token({}))
	assert.equal(good.status, 200, good.text)
	const bad = [
		['another key', token({}, {}, newRsaKey()), /signature/],
		['unknown key', token({}, { kid: 'other' }), /no key/],
		[
			'none',
			(nonce) => ({ id_token: fake.unsigned(fake.claims({ nonce }), { alg: 'none' }) }),
			/no signed|malformed|not accepted/,
		],
		[
			'None',
			(nonce) => ({
				id_token: fake.unsigned(fake.claims({ nonce }), { alg: 'None', kid: 'k' }, 'AA'),
			}),
			/not accepted/,
		],
		[
			'HMAC with the public key',
			(nonce) => ({ id_token: fake.hmac(fake.claims({ nonce }), fake.publicPem) }),
			/not accepted/,
		],
		[
			'HMAC with the secret',
			(nonce) => ({ id_token: fake.hmac(fake.claims({ nonce }), CLIENT.client_secret) }),
			/not accepted/,
		],
		['key in the token', token({}, { kid: 'z', jwk: newRsaKey() }), /no key/],
		['other issuer', token({ iss: 'https://evil.example' }), /another provider/],
		['other audience', token({ aud: 'other' }), /another client/],
		['many audiences', token({ aud: ['atoll', 'other'] }), /another client/],
		['other azp', token({ azp: 'other' }), /another client/],
		['expired', token({ exp: now - 3600 }), /expired/],
		['not yet', token({ nbf: now + 3600 }), /not valid yet/],
		['from the future', token({ iat: now + 3600 }), /not valid yet/],
		['no expiry', token({ exp: undefined }), /when it is valid/],
		['other nonce', token({ nonce: 'x' }), /another log-in/],
		['no nonce', token({ nonce: undefined }), /another log-in/],
		['no user', token({ sub: '' }), /names no user/],
		['not a token', () => ({ id_token: 'abc' }), /no signed token/],
		['huge', () => ({ id_token: `${'a'.repeat(100000)}.b.c` }), /no signed token/],
	]
	for (const [name, make, text] of bad) {
		const res = await lie(make)
		assert.equal(res.status, 401, `${name}: ${res.text}`)
		assert.match(res.json.message, text, name)
		assert.equal(res.headers['set-cookie'], undefined)
	}
	// within the 60 s that clocks may differ
	assert.equal((await lie(token({ exp: now - 30, iat: now + 30 }))).status, 200)
	const quoted = await lie(token({ email: 'a"<b>@example.com' }))
	assert.equal(quoted.json.user, 'a"<b>@example.com')
	assert.equal((await lie(token({ email: 'a\n@example.com' }))).status, 401)
	assert.equal((await lie(token({ email: 'x'.repeat(500) }))).status, 401)
})

test("the user's page must be of the same user, and may be missing", async () => {
	fake.reset()
	await until(() => liar.signal && program(liar))
	fake.document.userinfo_endpoint = `${fake.issuer}/me`
	process.kill(program(liar), 'SIGKILL') // forgets the document
	assert.ok(await until(async () => (await beginLogin(liar)).res.status === 200, 20000))
	const thin = (nonce) => ({
		id_token: fake.sign(fake.claims({ nonce, groups: undefined })),
		access_token: 'access',
	})
	fake.more['/me'] = [200, { sub: 'subject', groups: ['ops'], email: 'evil@example.com' }]
	const res = await lie(thin)
	assert.deepEqual([res.json.role, res.json.user], ['admin', 'ada@example.com'])
	fake.more['/me'] = [200, { sub: 'another', groups: ['ops'] }]
	assert.match((await lie(thin)).json.message, /another user/)
	for (const answer of [
		[500, {}],
		[200, 'x'],
		[302, {}, { Location: `${fake.issuer}/me2` }],
	]) {
		fake.more['/me'] = answer
		assert.equal((await lie(thin)).status, 403) // no groups, no role
	}
	assert.ok(!fake.asked.includes('/me2'))
})

test('a provider that is down or makes no sense is said so, and keys still log in', async () => {
	const restart = async () => {
		const old = program(liar)
		process.kill(old, 'SIGKILL')
		assert.ok(await until(() => program(liar) && program(liar) !== old))
	}
	// the answer once atoll-oidc runs again
	const begin = async () => {
		let last
		await until(async () => (last = (await beginLogin(liar)).res).status !== 503, 20000)
		return last
	}
	let touched = 0
	const inner = net.createServer((socket) => (touched++, socket.destroy()))
	await new Promise((done) => inner.listen(0, '127.0.0.1', done))
	const at = `https://localhost:${inner.address().port}`
	const documents = [
		[() => (fake.more['/.well-known/openid-configuration'] = [500, {}]), /status 500/],
		[() => (fake.more['/.well-known/openid-configuration'] = [200, 'x']), /no JSON/],
		[
			() => (fake.more['/.well-known/openid-configuration'] = [302, {}, { Location: '/other' }]),
			/status 302/,
		],
		[() => (fake.more['/.well-known/openid-configuration'] = [200, ' '.repeat(1 << 20)]), /too large/],
		[() => (fake.document.issuer = 'https://evil.example'), /issuer/],
		[() => (fake.document.token_endpoint = 'file:///etc/passwd'), /token_endpoint/],
		[() => (fake.document.token_endpoint = 'http://169.254.169.254/latest'), /without TLS/],
	]
	for (const [set, text] of documents) {
		fake.reset()
		set()
		await restart()
		const res = await begin()
		assert.equal(res.status, 502, res.text)
		assert.match(res.json.message, text)
		const asked = fake.asked.length
		assert.equal((await begin()).status, 502)
		assert.equal(fake.asked.length, asked, 'a failure is not repeated at once')
	}
	// addresses of this machine under a name that is not the provider's: nothing is sent there
	fake.reset()
	fake.document.token_endpoint = `${at}/token`
	await restart()
	assert.equal((await begin()).status, 200)
	const res = await lie(() => ({}))
	assert.equal(res.status, 502, res.text)
	assert.match(res.json.message, /private, or of this machine/)
	assert.equal(touched, 0)
	inner.close()

	fake.reset()
	fake.more['/token'] = [401, { error: 'invalid_client', error_description: 'no\nsuch' }]
	await restart()
	await begin()
	const client = await lie(() => ({}))
	assert.equal(client.status, 502)
	assert.match(client.json.message, /refuses atoll: invalid_client, no\?such/)

	await new Promise((done) => fake.server.close(done))
	fake.server.closeAllConnections()
	await restart()
	const down = await begin()
	assert.equal(down.status, 502)
	assert.match(down.json.message, /cannot ask the OpenID provider/)
	const v = new Visitor({ base: liar.url })
	await v.login({ apiKey: liar.key })
	assert.equal((await v.session()).json.role, 'admin')
	assert.match(fs.readFileSync(liar.log, 'utf8'), /cannot use the OpenID provider/)
})

test(
	'atoll-oidc has no power and not the uid of the front',
	{ skip: process.env.ATOLL_TEST_ASAN && 'not confined' },
	() => {
		const s = statusOf(program(server))
		assert.equal(s.Seccomp, '2')
		assert.equal(s.NoNewPrivs, '1')
		for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) assert.match(s[set], /^0+$/)
		const front = childrenOf(server.pid).find((pid) => nameOf(pid) === 'atoll-front')
		assert.notEqual(s.Uid, statusOf(front).Uid)
		/* the secret of the client is not in the front */
		const maps =
			fs.readFileSync(`/proc/${front}/environ`, 'latin1') +
			fs.readFileSync(`/proc/${front}/cmdline`, 'latin1')
		assert.ok(!maps.includes(CLIENT.client_secret))
	},
)

test('a restart keeps sessions, unless the rules have changed', async () => {
	const ada = await loggedIn('ada')
	const dev = await loggedIn('dev')
	const key = new Visitor({ base: server.url })
	await key.login({ apiKey: server.key })
	const { port } = server
	const again = async (roles) => {
		await server.stop({ remove: false })
		server.config.oidc_roles = roles
		server.port = port
		await server.start()
	}
	await again(ROLES)
	assert.equal((await ada.session()).json.user, 'ada@example.com')
	assert.equal((await dev.session()).status, 200)
	await again(ROLES.replace('group:ops=admin', 'group:ops=viewer'))
	for (const v of [ada, dev]) assert.equal((await v.session()).status, 401)
	assert.equal((await key.session()).status, 200)
	assert.equal((await (await loggedIn('ada')).session()).json.role, 'viewer')
})
