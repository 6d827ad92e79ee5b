// SPDX-License-Identifier: Apache-2.0
// What goes wrong around the console: the server restarts, sessions and keys end, sandboxes are killed elsewhere.
import { after, before, test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import { closeBrowser, goto, noBrowser, visit, visitor } from '../lib/browser.mjs'
import { api, createRaw, killRaw, server } from '../lib/client.mjs'
import { newServer } from '../lib/server.mjs'

const skip = noBrowser
let own, opt

before(async () => {
	if (skip) return
	own = await newServer(server.buildDir, { on_stop: 'keep', console_idle_s: 86400 }).start()
	opt = { base: own.url, key: own.key }
})
after(async () => {
	await closeBrowser()
	if (!own) return
	await api('POST', '/purge', { key: (await api('GET', '/api-keys', undefined, opt)).json[0].id }, opt)
	const end = await own.stop()
	assert.ok(end.clean, JSON.stringify(end.left))
})

const type = async (page, text) => {
	await page.locator('.xterm-helper-textarea').focus()
	await page.keyboard.type(text)
}
const seen = (page, text) =>
	page.waitForFunction((t) => document.querySelector('.xterm-rows')?.textContent.includes(t), text)

test('the server restarts: the terminal keeps its lines and its shell, and the page goes on', { skip }, async () => {
	const sbx = await createRaw({ templateID: 'base', timeout: 1200, secure: true }, opt)
	await visit(opt, async (page) => {
		await goto(page, `/sandboxes/${sbx.sandboxID}/terminal`)
		await page.locator('[data-terminal=open]').waitFor()
		await type(page, 'mine=kept; echo "before $((1+1))"\n')
		await seen(page, 'before 2')
		own.signal('SIGTERM')
		await own.exited
		await page.getByText('The server cannot be reached.').waitFor()
		await page.locator('[data-terminal=lost]').waitFor()
		await own.start()
		await page.locator('[data-terminal=open]').waitFor()
		await page.getByText('The server cannot be reached.').waitFor({ state: 'detached' })
		await seen(page, 'before 2')
		await type(page, 'echo "it is $mine"\n')
		await seen(page, 'it is kept')
	})
	await killRaw(sbx, opt)
})

test('a session that has ended: the log-in, then the same page', { skip }, async () => {
	await visit(opt, async (page, { context }) => {
		await goto(page, '/webhooks')
		await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor()
		await context.clearCookies()
		await page.getByText('Your session has ended.').waitFor()
		await page.getByLabel('API key').fill(own.key)
		await page.getByRole('button', { name: 'Log in', exact: true }).click()
		await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor()
	})
})

test('a key that is revoked ends its sessions', { skip }, async () => {
	const made = (await api('POST', '/api-keys', { name: 'short' }, opt)).json
	await visit({ ...opt, key: made.key }, async (page) => {
		await goto(page, '/sandboxes')
		await page.getByText('No sandboxes').waitFor()
		assert.equal((await api('DELETE', `/api-keys/${made.id}`, undefined, opt)).status, 204)
		await page.getByLabel('API key').waitFor()
	})
})

test('two tabs: one logs out, both are out; a sandbox killed in one is told in the other', { skip }, async () => {
	const sbx = await createRaw({ templateID: 'base', timeout: 1200, secure: true }, opt)
	await visit(opt, async (page, { tab }) => {
		await goto(page, `/sandboxes/${sbx.sandboxID}`)
		const second = await tab()
		await goto(second, '/sandboxes')
		await second.getByLabel(`Select ${sbx.sandboxID}`).check()
		await second.getByRole('button', { name: 'Kill' }).click()
		await second.getByRole('dialog').getByRole('button', { name: 'Kill' }).click()
		await second.getByText('1 sandbox killed').waitFor()
		await page.getByText(/it ended at/).waitFor()
		await page.getByText('This sandbox is not there any more').waitFor()
		await second.getByRole('button', { name: 'Account' }).click()
		await second.getByRole('menuitem', { name: 'Log out' }).click()
		await page.getByLabel('API key').waitFor()
		assert.deepEqual(second.wrong, [])
	})
})

test('a sandbox that never was', { skip }, async () => {
	await visit(opt, async (page) => {
		await goto(page, '/sandboxes/i0000000000000000000')
		await page.getByText(/doesn't exist or you don't have access/).waitFor()
	})
})

test('a viewer sees, and cannot act or look inside', { skip }, async () => {
	const sbx = await createRaw({ templateID: 'base', timeout: 1200, secure: true }, opt)
	const link = (await api('POST', '/console/api/links', { role: 'viewer' }, opt)).json
	const who = await visitor(opt)
	try {
		const { page } = who
		await page.goto(link.path)
		await page.locator('#content').waitFor()
		await goto(page, `/sandboxes/${sbx.sandboxID}`)
		assert.ok(await page.getByRole('button', { name: 'Pause' }).isDisabled())
		await page.getByRole('tab', { name: 'Terminal' }).click()
		await page.getByText('Not with this key').waitFor()
		await goto(page, '/sandboxes')
		await page.getByRole('link', { name: sbx.sandboxID }).waitFor()
		assert.equal(await page.getByRole('button', { name: 'New sandbox' }).count(), 0)
		assert.equal(await page.getByLabel(`Select ${sbx.sandboxID}`).count(), 0)
		assert.equal(await page.getByRole('link', { name: 'Teams' }).count(), 0)
		assert.deepEqual(page.wrong, [])
	} finally {
		await who.close()
		await killRaw(sbx, opt)
	}
})

test('a team sees its own sandboxes only', { skip }, async () => {
	const sbx = await createRaw({ templateID: 'base', timeout: 1200, secure: true }, opt)
	const team = (await api('POST', '/admin/teams', { name: 'others' }, opt)).json
	const key = (await api('POST', `/admin/teams/${team.teamID}/api-keys`, { name: 'k' }, opt)).json
	await visit({ ...opt, key: key.key }, async (page) => {
		await goto(page, '/sandboxes')
		await page.getByText('No sandboxes').waitFor()
		await goto(page, `/sandboxes/${sbx.sandboxID}`)
		await page.getByText(/doesn't exist or you don't have access/).waitFor()
		await goto(page, '/')
		await page.getByText('Sandboxes of others.').waitFor()
		await goto(page, '/teams')
		await page.getByText('There is no such page').waitFor()
	})
	await killRaw(sbx, opt)
})
