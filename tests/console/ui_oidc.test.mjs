// SPDX-License-Identifier: Apache-2.0
// Log-in through a real OpenID provider in Chromium: there and back, what goes wrong, another tab, and out.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { axe, closeBrowser, login, noBrowser, shot, visitor } from '../lib/browser.mjs'
import { server as shared } from '../lib/client.mjs'
import { childrenOf, nameOf, until } from '../lib/host.mjs'
import { CLIENT, RealProvider } from '../lib/oidc.mjs'
import { newServer } from '../lib/server.mjs'

const skip = noBrowser
const BUTTON = { name: 'Log in with Example ID' }
let provider, server

before(async () => {
	if (skip) return
	provider = await new RealProvider({
		ada: { email: 'ada@example.com', email_verified: true, groups: ['ops'] },
		bob: { email: 'bob<b>@example.com', email_verified: true, groups: ['dev'] },
		eve: { email: 'eve@example.com', email_verified: true, groups: [] },
	}).start()
	server = newServer(shared.buildDir, {
		oidc_issuer: provider.issuer,
		oidc_client_id: CLIENT.client_id,
		oidc_roles: 'group:ops=admin, group:dev=viewer',
		oidc_scopes: 'openid email groups',
		oidc_name: 'Example ID',
	})
	const secret = path.join(server.base, 'secret')
	fs.writeFileSync(secret, CLIENT.client_secret, { mode: 0o600 })
	server.config.oidc_client_secret_file = secret
	await server.start()
	await provider.configure(server.url)
})
after(async () => {
	await closeBrowser()
	const left = await server?.stop()
	await provider?.stop()
	if (left) assert.ok(left.clean)
})

async function atProvider(page, user, to = '/console/') {
	await page.goto(to)
	await page.getByRole('button', BUTTON).click()
	await page.getByLabel('User').fill(user)
	await page.getByRole('button', { name: 'Continue' }).click()
}

async function withVisitor(use) {
	const who = await visitor({ base: server.url })
	try {
		await use(who.page, who)
		assert.deepEqual(who.page.wrong, [])
	} finally {
		await who.close()
	}
}

test('there and back to the page that was asked for, and out', { skip }, () =>
	withVisitor(async (page, { context }) => {
		await page.goto('/console/keys')
		await page.getByRole('button', BUTTON).waitFor()
		assert.deepEqual(await axe(page), [])
		await shot(page, 'login-oidc')
		await atProvider(page, 'ada', '/console/keys?x=1')
		await page.getByRole('table', { name: 'API keys' }).waitFor()
		assert.equal(new URL(page.url()).pathname + new URL(page.url()).search, '/console/keys?x=1')
		const kept = await page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }))
		assert.ok(!/ticket|code|atoll_session/.test(kept), kept)
		const cookie = (await context.cookies(server.url)).find((c) => c.name === 'atoll_session')
		assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, 'Strict'])
		await page.getByRole('button', { name: 'Account' }).click()
		await page.getByText('ada@example.com').waitFor()
		await page.getByText('admin of').waitFor()
		await page.getByRole('menuitem', { name: 'Log out' }).click()
		/* the provider's session ends, too */
		await page.getByRole('button', { name: 'End it' }).click()
		await page.getByRole('button', BUTTON).waitFor()
		assert.ok(page.url().startsWith(`${server.url}/console/`))
		await page.getByRole('button', BUTTON).click()
		await page.getByLabel('User').waitFor()
	}),
)

test('a viewer, whose name is text', { skip }, () =>
	withVisitor(async (page) => {
		await atProvider(page, 'bob')
		await page.locator('#content').waitFor()
		await page.getByRole('button', { name: 'Account' }).click()
		await page.getByText('bob<b>@example.com').waitFor()
		await page.getByText('viewer of').waitFor()
	}),
)

test('a user without a role, a made-up answer and an old one are told so, and a key logs in', { skip }, () =>
	withVisitor(async (page) => {
		await atProvider(page, 'eve')
		await page.getByRole('alert').getByText('no role here').waitFor()
		await shot(page, 'login-oidc-refused')
		await page.goto('/console/oidc?code=abc&state=def')
		await page.getByRole('alert').getByText('not begun in this tab').waitFor()
		assert.equal(new URL(page.url()).pathname, '/console/')
		assert.equal(new URL(page.url()).search, '')
		await page.goto('/console/oidc?error=access_denied&state=def')
		await page.getByRole('alert').getByText('not begun in this tab').waitFor()
		await login(page, server.key)
	}),
)

test('what the provider refuses is said, as text', { skip }, () =>
	withVisitor(async (page) => {
		await page.goto('/console/')
		await page.route(`${provider.issuer}/**`, (route) => route.fulfill({ body: 'x' }))
		await page.getByRole('button', BUTTON).click()
		await page.waitForURL(`${provider.issuer}/**`)
		const { searchParams } = new URL(page.url())
		const words = new URLSearchParams({
			error: 'server_error',
			error_description: '<img src=x onerror=alert(1)>',
			state: searchParams.get('state'),
		})
		await page.goto(`${server.url}/console/oidc?${words}`)
		await page.getByRole('alert').getByText('<img src=x').waitFor()
	}),
)

test('a log-in in another tab renews the session of this one', { skip }, () =>
	withVisitor(async (page, { context, tab }) => {
		/* a provider that remembers the user asks nothing: the cookie of its session lives in this browser */
		await atProvider(page, 'ada')
		await page.locator('#content').waitFor()
		const before = (await context.cookies(server.url)).find((c) => c.name === 'atoll_session').value
		const second = await tab()
		await second.goto('/console/oidc?again')
		await second.locator('#content').waitFor()
		const now = (await context.cookies(server.url)).find((c) => c.name === 'atoll_session').value
		assert.notEqual(now, before)
		await page.getByRole('link', { name: 'API keys' }).click()
		await page.getByRole('table', { name: 'API keys' }).waitFor()
		assert.deepEqual(second.wrong, [])
	}),
)

test('a provider that is down: a message, and a key logs in', { skip }, () =>
	withVisitor(async (page) => {
		await provider.stop()
		// what it knows is gone
		process.kill(childrenOf(server.pid).find((pid) => nameOf(pid) === 'atoll-oidc'))
		await page.goto('/console/')
		const failed = page.getByRole('alert').getByText('cannot ask the OpenID provider')
		await until(async () => {
			await page.getByRole('button', BUTTON).click()
			await page.getByRole('alert').waitFor()
			return await failed.isVisible()
		}, 30000)
		await login(page, server.key)
	}),
)
