// SPDX-License-Identifier: Apache-2.0
// The rest of the console: creating sandboxes, bulk actions, templates, keys, teams, volumes, webhooks, usage, audit.
import { after, before, test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { closeBrowser, goto, noBrowser, shot, visit } from '../lib/browser.mjs'
import { api, createRaw, server } from '../lib/client.mjs'
import { newServer } from '../lib/server.mjs'

const skip = noBrowser
let own, opt

before(async () => {
	if (skip) return
	own = await newServer(server.buildDir, { prices: 'vcpu_hour=0.05 gib_hour=0.016 currency=EUR' }).start()
	opt = { base: own.url, key: own.key }
})
after(async () => {
	await closeBrowser()
	const end = await own?.stop()
	assert.ok(!end || end.clean, JSON.stringify(end?.left))
})

const dialog = (page) => page.getByRole('dialog')

test(
	'an empty list says what to type; a sandbox is created, filtered, paused and killed with others',
	{ skip },
	async () => {
		await visit(opt, async (page) => {
			await goto(page, '/sandboxes')
			await page.getByText('atoll create --template').waitFor()
			await shot(page, 'sandboxes-empty-light')
			await page.getByRole('button', { name: 'New sandbox' }).first().click()
			await dialog(page).getByLabel('Template').fill('nothing-of-that-name')
			await dialog(page).getByRole('button', { name: 'Create' }).click()
			await dialog(page).getByRole('alert').getByText('nothing-of-that-name').waitFor()
			await dialog(page).getByLabel('Template').fill('base')
			await dialog(page).getByLabel('Metadata').fill('agent=ada\njob=7')
			await dialog(page).getByRole('button', { name: 'Create' }).click()
			await page.getByText('Use it from a program').waitFor()
			await page.getByText('agent=').waitFor()
			await createRaw({ metadata: { agent: 'grace' } }, opt)
			await createRaw({ metadata: { agent: 'linus' } }, opt)
			await goto(page, '/sandboxes')
			const rows = page.locator('.tbody [data-id]')
			await page.waitForFunction(() => document.querySelectorAll('.tbody [data-id]').length === 3)
			await page.getByRole('searchbox').fill('grace')
			await page.waitForFunction(() => document.querySelectorAll('.tbody [data-id]').length === 1)
			await page.getByLabel('Select all').check()
			await page.getByRole('button', { name: 'Pause' }).click()
			await dialog(page).getByRole('button', { name: 'Pause' }).click()
			await page.getByText('1 sandbox paused').waitFor()
			await page.getByRole('searchbox').fill('')
			await page.getByLabel('State').selectOption('paused')
			await page.waitForFunction(() => document.querySelectorAll('.tbody [data-id]').length === 1)
			assert.match(await rows.first().textContent(), /grace/)
			await page.getByLabel('State').selectOption('')
			await page.waitForFunction(() => document.querySelectorAll('.tbody [data-id]').length === 3)
			await page.getByLabel('Select all').check()
			await page.getByRole('button', { name: 'Kill' }).click()
			await dialog(page).getByRole('button', { name: 'Kill' }).click()
			await page.getByText('3 sandboxes killed').waitFor()
			await page.getByText('No sandboxes').waitFor()
		})
	},
)

// What the server would answer with 5,000 sandboxes; only the list itself is made up.
test('a list of 5,000 makes only the rows in view, and scrolls to its end', { skip }, async () => {
	await visit(opt, async (page) => {
		const started = Date.now()
		const many = Array.from({ length: 5000 }, (_, i) => ({
			templateID: 'base',
			alias: 'base',
			sandboxID: `i${String(i).padStart(19, '0')}`,
			startedAt: new Date(started - i * 1000).toISOString(),
			endAt: new Date(started + 3600000).toISOString(),
			cpuCount: 2,
			memoryMB: 512,
			diskSizeMB: 512,
			state: 'running',
			envdVersion: '0.6.13',
			metadata: { n: String(i) },
		}))
		await page.route(
			(url) => url.pathname === '/sandboxes',
			(route) => route.fulfill({ json: many }),
		)
		await page.goto('/console/sandboxes')
		await page.getByText('5,000 sandboxes, 5,000 running').waitFor()
		assert.ok((await page.locator('.tbody [data-id]').count()) < 100)
		await page.locator('.scroller').evaluate((el) => el.scrollTo(0, el.scrollHeight))
		await page.locator(`[data-id=i${String(4999).padStart(19, '0')}]`).waitFor()
		assert.ok((await page.locator('.tbody [data-id]').count()) < 100)
		await page.getByRole('searchbox').fill('n=4321')
		await page.locator(`[data-id=i${String(4321).padStart(19, '0')}]`).waitFor()
		await page.waitForFunction(() => document.querySelectorAll('.tbody [data-id]').length === 1)
	})
})

test(
	'a template is built with its log as it runs, tagged, used, and deleted; a failing one says why',
	{ skip },
	async () => {
		await visit(opt, async (page) => {
			await goto(page, '/templates')
			await page.getByRole('button', { name: 'New template' }).click()
			await dialog(page).getByLabel('Name').fill('made-here')
			await dialog(page).getByLabel('Template').fill('base')
			await dialog(page)
				.getByLabel('Steps')
				.fill('RUN echo "<b>step one</b>"\nENV COLOUR=teal\nRUN test "$COLOUR" = teal')
			await dialog(page).getByRole('button', { name: 'Build' }).click()
			await page.getByText('<b>step one</b>').last().waitFor()
			await page.getByText(/Build finished/).waitFor()
			await page.getByRole('button', { name: /Actions of build/ }).click()
			await page.getByRole('menuitem', { name: 'Tag …' }).click()
			await dialog(page).getByLabel('Tag').fill('stable')
			await dialog(page).getByRole('button', { name: 'Tag' }).click()
			await page.getByLabel('Remove the tag stable').waitFor()
			await shot(page, 'template-build-light')
			await goto(page, '/templates?new=1')
			await dialog(page).getByLabel('Name').fill('broken')
			await dialog(page).getByLabel('Template').fill('base')
			await dialog(page).getByLabel('Steps').fill('echo before\nexit 7')
			await dialog(page).getByRole('button', { name: 'Build' }).click()
			await page
				.getByRole('alert')
				.getByText(/Step 2/)
				.waitFor()
			for (const name of ['broken', 'made-here']) {
				await goto(page, '/templates')
				await page.getByLabel(`Actions of default/${name}`).click()
				await page.getByRole('menuitem', { name: 'Delete …' }).click()
				await dialog(page).getByRole('button', { name: 'Delete' }).click()
				await page.getByLabel(`Actions of default/${name}`).waitFor({ state: 'detached' })
			}
		})
	},
)

test('keys: made and shown once, renamed, rotated, revoked', { skip }, async () => {
	await visit(opt, async (page) => {
		await goto(page, '/keys')
		await page.getByRole('button', { name: 'New key' }).click()
		await dialog(page).getByLabel('Name').fill('ci <i>x</i>')
		await dialog(page).getByRole('button', { name: 'Create' }).click()
		const key = (await dialog(page).locator('.snippet').textContent()).trim()
		assert.match(key, /^e2b_[0-9a-f]{40}$/)
		assert.equal((await api('GET', '/sandboxes', undefined, { ...opt, key })).status, 200)
		await dialog(page).getByRole('button', { name: 'I have copied it' }).click()
		assert.ok(!(await page.content()).includes(key))
		const act = async (name, item) => {
			await page.getByLabel(`Actions of key ${name}`).first().click()
			await page.getByRole('menuitem', { name: item }).click()
		}
		await act('ci <i>x</i>', 'Rename …')
		await dialog(page).getByLabel('Name').fill('robot')
		await dialog(page).getByRole('button', { name: 'Rename' }).click()
		await act('robot', 'Revoke …')
		await dialog(page).getByRole('button', { name: 'Revoke' }).click()
		await page.getByLabel('Actions of key robot').waitFor({ state: 'detached' })
		assert.equal((await api('GET', '/sandboxes', undefined, { ...opt, key })).status, 401)
	})
})

test('teams: made, with a quota and a key, blocked, deleted', { skip }, async () => {
	await visit(opt, async (page) => {
		await goto(page, '/teams')
		await page.getByRole('button', { name: 'New team' }).click()
		await dialog(page).getByLabel('Name').fill('research')
		await dialog(page).getByRole('button', { name: 'Create' }).click()
		await page.getByRole('link', { name: 'research' }).click()
		await page.getByRole('button', { name: 'Quotas' }).click()
		await dialog(page).getByLabel('Sandboxes at once').fill('3')
		await dialog(page).getByLabel('Creations per minute').fill('9')
		await dialog(page).getByRole('button', { name: 'Apply' }).click()
		await page.getByText('The new quotas are in force').first().waitFor()
		const team = (await api('GET', '/admin/teams/research', undefined, opt)).json
		assert.equal(team.maxSandboxes, 3)
		assert.equal(team.quota.createsPerMinute, 9)
		for (const item of ['Block …', 'Unblock …']) {
			await page.getByRole('button', { name: 'More actions' }).click()
			await page.getByRole('menuitem', { name: item }).click()
			await dialog(page)
				.getByRole('button', { name: item.split(' ')[0] })
				.click()
			await dialog(page).waitFor({ state: 'detached' })
		}
		await shot(page, 'team-light')
		await page.getByRole('button', { name: 'More actions' }).click()
		await page.getByRole('menuitem', { name: 'Delete …' }).click()
		await dialog(page).getByRole('button', { name: 'Delete' }).click()
		await page.getByRole('heading', { name: 'Teams', level: 1 }).waitFor()
		assert.equal((await api('GET', '/admin/teams/research', undefined, opt)).status, 404)
	})
})

test('volumes: made, a file uploaded, downloaded and deleted', { skip }, async () => {
	await visit(opt, async (page) => {
		await goto(page, '/volumes')
		await page.getByRole('button', { name: 'New volume' }).click()
		await dialog(page).getByLabel('Name').fill('data')
		await dialog(page).getByLabel('Size, MiB').fill('64')
		await dialog(page).getByRole('button', { name: 'Create' }).click()
		await page.getByText('Drop files here').waitFor()
		await page
			.getByLabel('Files to upload')
			.setInputFiles([
				{ name: 'a <b>.txt', mimeType: 'text/plain', buffer: Buffer.from('on the volume') },
			])
		const [got] = await Promise.all([
			page.waitForEvent('download'),
			page.getByRole('button', { name: 'Download a <b>.txt' }).click(),
		])
		assert.equal(fs.readFileSync(await got.path(), 'utf8'), 'on the volume')
		await shot(page, 'volume-light')
		await page.getByRole('button', { name: 'Delete a <b>.txt' }).click()
		await dialog(page).getByRole('button', { name: 'Delete' }).click()
		await page.getByText('Drop files here').waitFor()
		await page.getByRole('button', { name: 'Delete', exact: true }).click()
		await dialog(page).getByRole('button', { name: 'Delete' }).click()
		await page.getByText('No volumes').waitFor()
	})
})

test('webhooks: made, tested, their deliveries, deleted', { skip }, async () => {
	await visit(opt, async (page) => {
		await goto(page, '/webhooks')
		await page.getByRole('button', { name: 'New webhook' }).click()
		await dialog(page).getByLabel('Name').fill('bell')
		await dialog(page).getByLabel('Address').fill('http://127.0.0.1:9/hook')
		await dialog(page).getByRole('button', { name: 'Add' }).click()
		await dialog(page).getByRole('alert').getByText('private address').waitFor()
		await dialog(page).getByLabel('Address').fill('https://hook.invalid/x')
		await dialog(page).getByRole('button', { name: 'Add' }).click()
		await dialog(page).getByRole('button', { name: 'I have copied it' }).click()
		await page.getByLabel('Actions of bell').click()
		await page.getByRole('menuitem', { name: 'Send a test' }).click()
		await page.getByRole('table', { name: 'Deliveries' }).getByText('resolve').first().waitFor()
		await page.getByLabel('Actions of bell').click()
		await page.getByRole('menuitem', { name: 'Delete …' }).click()
		await dialog(page).getByRole('button', { name: 'Delete' }).click()
		await page.getByText('No webhooks').waitFor()
	})
})

test('agent sessions: made, their notebook, ended', { skip }, async () => {
	await visit(opt, async (page) => {
		await goto(page, '/sessions')
		await page.getByRole('button', { name: 'New session' }).click()
		await dialog(page).getByLabel('Agent').fill('ada')
		await dialog(page).getByRole('button', { name: 'Create' }).click()
		const id = (await page.getByRole('button', { name: /^ses_/ }).textContent()).trim()
		assert.equal(
			(await api('POST', `/agent/sessions/${id}/execute`, { code: 'print("from the agent")' }, opt))
				.status,
			200,
		)
		await page.getByRole('button', { name: id, exact: true }).click()
		await page.getByText('from the agent', { exact: true }).waitFor()
		await page.getByLabel(`Actions of ${id}`).click()
		await page.getByRole('menuitem', { name: 'End …' }).click()
		await dialog(page).getByRole('button', { name: 'End' }).click()
		await page.getByText('No sessions').waitFor()
	})
})

test(
	'usage has its cost; the audit trail is searched and verified, and a changed record is found',
	{ skip },
	async () => {
		await visit(opt, async (page) => {
			await goto(page, '/usage')
			await page.getByText(/EUR/).first().waitFor()
			const [csv] = await Promise.all([
				page.waitForEvent('download'),
				page.getByRole('button', { name: 'CSV' }).click(),
			])
			assert.match(fs.readFileSync(await csv.path(), 'utf8'), /"local"/)
			await shot(page, 'usage-light')
			await goto(page, '/audit?kind=sandbox.create')
			const records = page.getByRole('table', { name: 'Audit records' })
			await records.getByText('sandbox.create').first().waitFor()
			await page
				.getByLabel(/^Record \d+/)
				.first()
				.click()
			await page.getByText('"prev":').waitFor()
			await page.getByRole('button', { name: 'Verify' }).click()
			await page.locator('[data-verdict=good]').waitFor()
			await shot(page, 'audit-verified-light')
			await page.route('**/admin/audit?after=0*', async (route) => {
				const got = await route.fetch()
				await route.fulfill({
					response: got,
					body: (await got.text()).replace('"status":201', '"status":200'),
				})
			})
			await page.getByRole('button', { name: 'Verify' }).click()
			await page.locator('[data-verdict=bad]').waitFor()
		})
		assert.ok(fs.existsSync(path.join(own.stateDir, 'audit')))
	},
)
