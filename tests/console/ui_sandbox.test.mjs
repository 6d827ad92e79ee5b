// SPDX-License-Identifier: Apache-2.0
// One sandbox in the console: terminal, cells, files, processes, logs, limits, ports, and what can be done with it.
import { after, before, test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { closeBrowser, goto, noBrowser, shot, visit } from '../lib/browser.mjs'
import { api, createRaw, killRaw, sdk, server, shell } from '../lib/client.mjs'
import { until } from '../lib/host.mjs'

const skip = noBrowser
let sbx

before(async () => {
	if (skip) return
	sbx = await createRaw({
		templateID: 'code-interpreter-v1',
		timeout: 1200,
		secure: true,
		metadata: { agent: 'ada' },
	})
})
after(async () => {
	if (sbx) await killRaw(sbx)
	await closeBrowser()
})

const at = (tab = '') => `/sandboxes/${sbx.sandboxID}${tab && `/${tab}`}`
const screen = (page) => page.locator('.xterm-rows')
const opened = (page) => page.locator('[data-terminal=open]').waitFor()
const type = async (page, text) => {
	await page.locator('.xterm-helper-textarea').focus()
	await page.keyboard.type(text)
}

async function run(page, code) {
	// not by a click: the outputs above may still be growing, and then the place moves
	await page.locator('[data-editor] .cm-content').focus()
	await page.keyboard.press('Control+a')
	await page.keyboard.insertText(code)
	await page.keyboard.press('Shift+Enter')
}

test('terminal: a shell, colours, its size, another look at it, a second one', { skip }, async () => {
	await visit({}, async (page) => {
		await goto(page, at('terminal'))
		await opened(page)
		await type(
			page,
			'echo "sum=$((40+2))"; printf "\\033[38;2;10;200;30mtrue\\033[0mcolour\\n"; stty size\n',
		)
		await screen(page).getByText('sum=42').first().waitFor()
		await page.waitForFunction(() =>
			document.querySelector('.xterm-rows')?.textContent.includes('truecolour'),
		)
		const color = await page.evaluate(() => {
			const all = [...document.querySelectorAll('.xterm-rows span')]
			return all.filter((s) => s.textContent === 'true').map((s) => getComputedStyle(s).color)
		})
		assert.ok(color.includes('rgb(10, 200, 30)'), JSON.stringify(color))
		await shot(page, 'sandbox-terminal-used')
		await page.getByRole('tab', { name: 'Limits' }).click()
		await page.getByLabel('Memory', { exact: true }).waitFor()
		await page.getByRole('tab', { name: 'Terminal' }).click()
		await screen(page).getByText('sum=42').first().waitFor()
		await page.getByRole('button', { name: 'New terminal' }).click()
		await opened(page)
		await type(page, 'tty; exit 3\n')
		await page.getByText('ended with exit code 3').first().waitFor()
		await page.getByRole('button', { name: 'Close the terminal' }).click()
		await screen(page).getByText('sum=42').first().waitFor()
		await page.reload()
		await opened(page)
		await type(page, 'echo again $((1+1))\n')
		await screen(page).getByText('again 2').first().waitFor()
	})
})

test('cells: state, tables, pictures, charts, errors, other languages, and what others ran', { skip }, async () => {
	const { Sandbox } = sdk('@e2b/code-interpreter')
	const other = await Sandbox.connect(sbx.sandboxID, {
		apiUrl: server.url,
		sandboxUrl: server.url,
		apiKey: server.key,
	})
	await other.runCode('before = "by another client"\nbefore')
	await visit({}, async (page) => {
		await goto(page, at('cells'))
		await page.getByText('by another client').first().waitFor()
		await run(page, 'x = 20')
		await run(page, 'x + 1.5')
		await page.getByText('21.5', { exact: true }).waitFor()
		await run(
			page,
			'import pandas as pd\npd.DataFrame({"n": [1, 2], "word": ["<b>one</b>", "two"]})' +
				'.style.set_properties(color="rgb(1, 2, 3)").format(escape="html")',
		)
		const cell = page.frameLocator('iframe.frame').last()
		await cell.getByText('<b>one</b>').waitFor()
		assert.equal(await cell.getByText('two').evaluate((el) => getComputedStyle(el).color), 'rgb(1, 2, 3)')
		await run(
			page,
			'import matplotlib.pyplot as plt\nplt.plot([1, 4, 9], label="squares")\n' +
				'plt.title("Squares"); plt.show()',
		)
		await page.locator('img.pic').last().waitFor()
		await page.waitForFunction(() => [...document.querySelectorAll('img.pic')].pop()?.naturalWidth > 100)
		await page.getByRole('button', { name: 'Chart', exact: true }).last().click()
		await page.getByRole('img', { name: 'Chart of Squares' }).waitFor()
		await shot(page, 'sandbox-cells-used')
		await run(page, '1 / 0')
		await page.getByText('ZeroDivisionError').first().waitFor()
		await page.getByLabel('Language or context').selectOption('javascript')
		await run(page, '[6 * 7].map((n) => `js ${n}`)[0]')
		await page.getByText('js 42').last().waitFor()
		await page.getByLabel('Language or context').selectOption('bash')
		await run(page, 'echo "bash $BASH_VERSION" | cut -c1-6')
		await page.getByText('bash 5').last().waitFor()
		const [book] = await Promise.all([
			page.waitForEvent('download'),
			page
				.getByRole('button', { name: 'Contexts and notebook' })
				.click()
				.then(() => page.getByRole('menuitem', { name: 'Download as a notebook' }).click()),
		])
		assert.ok(JSON.parse(fs.readFileSync(await book.path(), 'utf8')).cells.length >= 5)
	})
})

test('files: tree, edit, save, change from inside, upload, download, new, delete', { skip }, async () => {
	await shell(
		sbx,
		'cd /home/user; mkdir -p docs; echo "first line" > docs/note.md; head -c 300000 /dev/zero > zero.bin',
		{ user: 'user' },
	)
	await visit({}, async (page) => {
		await goto(page, at('files'))
		const item = (name) => page.getByRole('treeitem', { name })
		await item('docs').click()
		await item('note.md').click()
		const editor = page.locator('[data-editor] .cm-content')
		await editor.getByText('first line').waitFor()
		await editor.click()
		await page.keyboard.press('Control+End')
		await page.keyboard.insertText('second line\n')
		await page.keyboard.press('Control+s')
		await page.getByText('note.md is saved').first().waitFor()
		assert.equal((await shell(sbx, 'cat /home/user/docs/note.md')).stdout, 'first line\nsecond line\n')
		await shell(sbx, 'echo "from inside" > /home/user/docs/note.md; touch /home/user/docs/fresh.txt')
		await editor.getByText('from inside').waitFor()
		await item('fresh.txt').waitFor()
		await shot(page, 'sandbox-files-used')
		await page
			.getByLabel('Files to upload')
			.setInputFiles([{ name: 'up.csv', mimeType: 'text/csv', buffer: Buffer.from('a,b\n1,2\n') }])
		await item('up.csv').click()
		await editor.getByText('1,2').waitFor()
		assert.equal((await shell(sbx, 'cat /home/user/up.csv')).stdout, 'a,b\n1,2\n')
		const [got] = await Promise.all([
			page.waitForEvent('download'),
			page.getByRole('button', { name: 'Download' }).click(),
		])
		assert.equal(fs.readFileSync(await got.path(), 'utf8'), 'a,b\n1,2\n')
		await item('zero.bin').click()
		await page.getByLabel('Bytes of the file').getByText('00000000').first().waitFor()
		await page.getByText('This is its beginning').waitFor()
		await item('up.csv').click()
		await page.getByRole('button', { name: 'New file, folder or upload' }).click()
		await page.getByRole('menuitem', { name: 'Delete …' }).click()
		await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
		await item('up.csv').waitFor({ state: 'detached' })
	})
})

test('processes, logs, metrics', { skip }, async () => {
	await shell(sbx, 'nohup sleep 4242 >/dev/null 2>&1 &', { user: 'user' })
	await visit({}, async (page) => {
		await goto(page, at('processes'))
		const row = page.getByRole('row').filter({ hasText: 'sleep 4242' })
		await row.first().waitFor()
		await row.first().getByRole('button', { name: 'Kill' }).click()
		await page.getByRole('dialog').getByRole('button', { name: 'Kill' }).click()
		await row.first().waitFor({ state: 'detached' })
		await page.getByRole('tab', { name: 'Logs' }).click()
		await page.getByText('sandbox created').waitFor()
		await page.getByLabel('Search the log').fill('no such words')
		await page.getByText('No entries').waitFor()
		await page.getByRole('tab', { name: 'Metrics' }).click()
		await page.getByRole('img', { name: 'Chart of Memory' }).locator('canvas').waitFor()
		await shot(page, 'sandbox-metrics-used')
	})
})

test('limits are changed while it runs; a wrong value is explained', { skip }, async () => {
	await visit({}, async (page) => {
		await goto(page, at('limits'))
		await page.getByLabel('Processes', { exact: true }).fill('300')
		await page.getByRole('button', { name: 'Apply' }).click()
		await page.getByText('The new limits are in force').first().waitFor()
		assert.equal((await api('GET', `${at()}/limits`)).json.limits.processes, 300)
		await page.getByLabel('Memory', { exact: true }).fill('99999999')
		await page.getByRole('button', { name: 'Apply' }).click()
		await page
			.getByText(/memoryMB/)
			.first()
			.waitFor()
	})
})

test('network: rules are changed, and a refusal is explained', { skip }, async () => {
	await visit({}, async (page) => {
		await goto(page, at('network'))
		await page.getByRole('button', { name: 'Change' }).click()
		await page.getByRole('textbox', { name: 'Denied' }).fill('0.0.0.0/0')
		await page.getByRole('button', { name: 'Apply' }).click()
		await page.getByText('The new rules are in force').first().waitFor()
		await shell(sbx, 'timeout 5 bash -c "exec 3<>/dev/tcp/203.0.113.7/81"')
		await page.getByRole('table', { name: 'Refusals' }).getByText('203.0.113.7:81').first().waitFor()
		assert.equal((await api('PUT', `${at()}/network`, {})).status, 204)
	})
})

test('ports: a program that listens is found and previewed from its own origin', { skip }, async () => {
	await shell(
		sbx,
		'mkdir -p /tmp/www; cd /tmp/www; echo "<title>t</title>hello from the port" > index.html; ' +
			'nohup python3 -m http.server 8123 >/dev/null 2>&1 &',
	)
	await visit({}, async (page) => {
		await goto(page, at('ports'))
		await page.getByRole('button', { name: 'Preview' }).click()
		const frame = page.frameLocator('iframe.preview')
		await frame.getByText('hello from the port').waitFor()
		const origin = await frame.locator('body').evaluate(() => location.origin)
		assert.notEqual(origin, new URL(page.url()).origin)
		await shot(page, 'sandbox-ports-used')
	})
})

test('fork, the tree of forks, snapshot, pause, resume, kill', { skip }, async () => {
	await visit({}, async (page) => {
		await goto(page, at())
		await page.getByRole('button', { name: 'Fork', exact: true }).click()
		await page.getByRole('dialog').getByRole('button', { name: 'Fork' }).click()
		await page.waitForFunction((id) => !location.pathname.includes(id), sbx.sandboxID)
		const copy = new URL(page.url()).pathname.split('/')[3]
		await page.getByRole('tab', { name: 'Forks' }).click()
		await page.getByRole('button', { name: 'Snapshot' }).click()
		await page.getByLabel('Name').fill('console-made')
		await page.getByRole('button', { name: 'Take the snapshot' }).click()
		await page.getByRole('table', { name: 'Snapshots' }).getByText('console-made').first().waitFor()
		await shot(page, 'sandbox-forks-used')
		await page.getByRole('button', { name: 'Pause' }).click()
		await page.getByText('paused', { exact: true }).first().waitFor()
		await page.getByRole('tab', { name: 'Terminal' }).click()
		await page.getByText('This sandbox is paused').waitFor()
		assert.equal((await api('GET', `/sandboxes/${copy}`)).json.state, 'paused')
		await page.getByRole('tabpanel').getByRole('button', { name: 'Resume' }).click()
		await opened(page)
		await page.getByRole('button', { name: 'More actions' }).click()
		await page.getByRole('menuitem', { name: 'Kill …' }).click()
		await page.getByRole('dialog').getByRole('button', { name: 'Kill' }).click()
		await page.getByText(/killed by request/).waitFor()
		await page.getByText('This sandbox is not there any more').waitFor()
		await page.getByRole('link', { name: 'Log', exact: true }).click()
		await page.getByText('sandbox created').waitFor()
		assert.ok(await until(async () => (await api('GET', `/sandboxes/${copy}`)).status === 404, 60000, 100))
		const made = (await api('GET', '/snapshots')).json.find((s) => s.sandboxID === copy)
		await api('DELETE', `/templates/${encodeURIComponent(made.snapshotID.split(':')[0])}`)
	})
})
