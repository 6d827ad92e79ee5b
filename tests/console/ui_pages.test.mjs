// SPDX-License-Identifier: Apache-2.0
// The console's pages in Chromium: log-in, every page in dark and light with a screenshot and axe-core, keyboard and
// phone.
import { after, before, test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import { axe, closeBrowser, goto, login, noBrowser, shot, visit, visitor } from '../lib/browser.mjs'
import { api, createRaw, killRaw, request, server } from '../lib/client.mjs'

const skip = noBrowser
const FIRST_LOAD_MOST = 300 * 1024
let sbx

before(async () => {
	if (!skip) sbx = await createRaw({ templateID: 'base', timeout: 900, metadata: { agent: 'ada', job: '42' } })
})
after(async () => {
	if (sbx) await killRaw(sbx)
	await closeBrowser()
})

const PAGES = {
	'overview': ['/', 'Overview'],
	'sandboxes': ['/sandboxes', 'Sandboxes'],
	'templates': ['/templates', 'Templates'],
	'template': ['/templates/base', 'base'],
	'snapshots': ['/snapshots', 'Snapshots'],
	'volumes': ['/volumes', 'Volumes'],
	'sessions': ['/sessions', 'Agent sessions'],
	'keys': ['/keys', 'API keys'],
	'usage': ['/usage', 'Usage'],
	'webhooks': ['/webhooks', 'Webhooks'],
	'audit': ['/audit', 'Audit trail'],
	'teams': ['/teams', 'Teams'],
	'not-found': ['/nothing', 'There is no such page'],
}
const TABS = ['terminal', 'cells', 'files', 'processes', 'metrics', 'logs', 'network', 'limits', 'ports', 'forks']

// Until nothing is being asked for any more.
const settled = (page) => page.waitForFunction(() => !document.querySelector('main .loading'))

test('log in: a wrong key is refused, a right one opens the page that was asked for', { skip }, async () => {
	const who = await visitor()
	try {
		await who.page.goto('/console/volumes')
		await who.page.getByLabel('API key').fill(`e2b_${'1'.repeat(40)}`)
		await who.page.getByRole('button', { name: 'Log in', exact: true }).click()
		await who.page.getByText('The server does not know this key.').waitFor()
		assert.deepEqual(await axe(who.page), [])
		await shot(who.page, 'login-light')
		await login(who.page, server.key, '/console/volumes')
		await who.page.getByRole('heading', { name: 'Volumes', level: 1 }).waitFor()
		assert.equal(new URL(who.page.url()).pathname, '/console/volumes')
		// the key is nowhere in the page or its storage
		const kept = await who.page.evaluate(() =>
			[
				document.documentElement.outerHTML,
				...Object.values(localStorage),
				...Object.values(sessionStorage),
				document.cookie,
			].join('\n'),
		)
		assert.ok(!kept.includes(server.key) && !/e2b_[0-9a-f]{40}/.test(kept))
		await who.page.getByRole('button', { name: 'Account' }).click()
		await who.page.getByRole('menuitem', { name: 'Log out' }).click()
		await who.page.getByLabel('API key').waitFor()
		await who.page.reload()
		await who.page.getByLabel('API key').waitFor()
		assert.deepEqual(who.page.wrong, [])
	} finally {
		await who.close()
	}
})

test('a log-in link works once', { skip }, async () => {
	const made = await api('POST', '/console/api/links', {})
	assert.equal(made.status, 201, made.text)
	const who = await visitor()
	const other = await visitor()
	try {
		await who.page.goto(made.json.path)
		await who.page.locator('#content').waitFor()
		assert.equal(new URL(who.page.url()).hash, '')
		await other.page.goto(made.json.path)
		await other.page.getByText('Each link works once.').waitFor()
	} finally {
		await who.close()
		await other.close()
	}
})

for (const dark of [false, true])
	test(`every page, ${dark ? 'dark' : 'light'}: heading, axe-core, screenshot`, { skip }, async () => {
		await visit({ dark }, async (page) => {
			for (const [name, [path, heading]] of Object.entries(PAGES)) {
				await goto(page, path)
				await page.getByRole('heading', { name: heading, exact: true }).first().waitFor()
				await settled(page)
				await shot(page, `${name}-${dark ? 'dark' : 'light'}`)
				assert.deepEqual(await axe(page), [], `${name}: serious findings of axe-core`)
			}
		})
	})

test('every tab of a sandbox: axe-core, screenshot', { skip }, async () => {
	await visit({}, async (page) => {
		await goto(page, `/sandboxes/${sbx.sandboxID}`)
		await page.getByText('Use it from a program').waitFor()
		await shot(page, 'sandbox-light')
		assert.deepEqual(await axe(page), [])
		for (const tab of TABS) {
			await page.getByRole('tab', { name: tab, exact: false }).first().click()
			await page.getByRole('tab', { name: tab, exact: false, selected: true }).waitFor()
			await settled(page)
			await shot(page, `sandbox-${tab}-light`)
			assert.deepEqual(await axe(page), [], `${tab}: serious findings of axe-core`)
		}
	})
})

test('phone width: the menu opens, nothing is wider than the page', { skip }, async () => {
	await visit({ width: 390, height: 780 }, async (page) => {
		for (const [name, path] of [
			['overview', '/'],
			['sandboxes', '/sandboxes'],
			['sandbox', `/sandboxes/${sbx.sandboxID}`],
			['limits', `/sandboxes/${sbx.sandboxID}/limits`],
		]) {
			await goto(page, path)
			await settled(page)
			await shot(page, `phone-${name}`)
			const [wide, view] = await page.evaluate(() => [
				document.documentElement.scrollWidth,
				innerWidth,
			])
			assert.ok(wide <= view, `${name}: ${wide} of ${view} pixels`)
		}
		await page.getByRole('button', { name: 'Menu', exact: true }).click()
		await page.getByRole('link', { name: 'Templates' }).click()
		await page.getByRole('heading', { name: 'Templates', level: 1 }).waitFor()
	})
})

test('keyboard: palette, g and a letter, slash', { skip }, async () => {
	await visit({}, async (page) => {
		await page.keyboard.press('Control+k')
		const box = page.getByRole('combobox', { name: 'Command' })
		await box.fill(sbx.sandboxID.slice(0, 8))
		await page.getByRole('option', { name: sbx.sandboxID }).waitFor()
		assert.deepEqual(await axe(page), [])
		await shot(page, 'palette-light')
		await page.keyboard.press('Enter')
		await page.getByRole('heading', { name: sbx.sandboxID, level: 1 }).waitFor()
		await page.keyboard.press('g')
		await page.keyboard.press('s')
		await page.getByRole('heading', { name: 'Sandboxes', level: 1 }).waitFor()
		await page.keyboard.press('/')
		await page.keyboard.type('agent=ada')
		await page.waitForFunction(() => location.search === '?q=agent%3Dada')
		await page.getByRole('link', { name: sbx.sandboxID }).waitFor()
		await page.keyboard.type('-nobody')
		await page.getByText('No sandbox matches').waitFor()
		await page.getByRole('button', { name: 'Dark' }).click()
		assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark')
		await page.reload()
		await page.getByRole('button', { name: 'Light' }).waitFor()
	})
})

test('the first load is small, and what is sent for it is compressed', { skip }, async () => {
	const who = await visitor()
	const cdp = await who.context.newCDPSession(who.page)
	let bytes = 0
	try {
		await cdp.send('Network.enable')
		cdp.on('Network.loadingFinished', (e) => (bytes += e.encodedDataLength))
		await login(who.page)
		await who.page.getByRole('heading', { name: 'Overview' }).waitFor()
		await settled(who.page)
		assert.ok(bytes > 10000 && bytes <= FIRST_LOAD_MOST, `${bytes} bytes`)
	} finally {
		await who.close()
	}
})

test('licences of what is bundled are listed', { skip }, async () => {
	const got = await request('GET', '/console/licenses.txt')
	for (const name of ['preact', '@xterm/xterm', 'e2b', '@codemirror/view', 'uplot'])
		assert.match(got.text, new RegExp(`^${name} [0-9.]+$`, 'm'))
})
