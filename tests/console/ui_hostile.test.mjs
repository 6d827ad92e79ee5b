// SPDX-License-Identifier: Apache-2.0
// What programs in a sandbox write is text in the console, wherever it appears; floods and large files leave it usable.
import { after, before, test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import { closeBrowser, goto, noBrowser, visit } from '../lib/browser.mjs'
import { api, createRaw, killRaw, shell } from '../lib/client.mjs'

const skip = noBrowser
const MARK = 'window.__ran=1'
const CORPUS = [
	`<script>${MARK}</script>`,
	`<img src=x onerror="${MARK}">`,
	`<svg onload="${MARK}"><a xlink:href="javascript:${MARK}"><text>x</text></a></svg>`,
	`"><iframe srcdoc="<script>parent.${MARK}</script>">`,
	`'-alert(1)-'`,
	`javascript:${MARK}`,
	`<a href="javascript:${MARK}">click</a>`,
	`<form action="javascript:${MARK}"><button>go</button></form>`,
	`<meta http-equiv="refresh" content="0;url=javascript:${MARK}">`,
	`<base href="//example.invalid/"><link rel=stylesheet href="//example.invalid/x.css">`,
	`<style>@import "//example.invalid/y.css"; body { display: none !important }</style>`,
	`{{constructor.constructor('${MARK}')()}}`,
	`<template><script>${MARK}</script></template>`,
	`\u202egnp.exe\u2066\u200b`,
	`<details open ontoggle="${MARK}"><video><source onerror="${MARK}">`,
]
let sbx

before(async () => {
	if (skip) return
	const metadata = Object.fromEntries(CORPUS.slice(0, 8).map((text, i) => [`${text}${i}`, text]))
	sbx = await createRaw({ templateID: 'code-interpreter-v1', timeout: 1200, secure: true, metadata })
})
after(async () => {
	if (sbx) await killRaw(sbx)
	await closeBrowser()
})

const at = (tab = '') => `/sandboxes/${sbx.sandboxID}${tab && `/${tab}`}`

// Nothing ran in the page or in one of its frames, and none of it became an element.
async function harmless(page) {
	for (const frame of page.frames())
		assert.equal(await frame.evaluate(() => globalThis.__ran), undefined, frame.url())
	const made = await page.evaluate(
		() =>
			document.querySelectorAll(
				'main script, main meta, main base, main style, main form[action], main svg a',
			).length,
	)
	assert.equal(made, 0)
}

async function run(page, code) {
	// not by a click: the outputs above are still growing, and the place moves
	await page.locator('[data-editor] .cm-content').focus()
	await page.keyboard.insertText(code)
	await page.keyboard.press('Shift+Enter')
}

const done = (page, n) =>
	page.waitForFunction((want) => document.querySelectorAll('[data-state=done]').length >= want, n)

test('metadata in lists, pages, events and the palette', { skip }, async () => {
	await visit({}, async (page) => {
		for (const path of ['/', '/sandboxes', at(), at('forks'), '/audit', '/usage']) {
			await goto(page, path)
			await page.waitForFunction(() => !document.querySelector('main .loading'))
			await harmless(page)
		}
		await goto(page, '/sandboxes')
		await page.getByText(CORPUS[1]).first().waitFor()
		await page.keyboard.press('Control+k')
		await page.getByRole('option').filter({ hasText: sbx.sandboxID }).waitFor()
		await harmless(page)
	})
})

test('names and contents of files, names of processes, lines of the log', { skip }, async () => {
	const names = CORPUS.map((text) => text.replaceAll('/', '∕')).concat([
		'new\nline',
		'tab\there',
		'quote"\'`',
		'esc\u001b[2Jape',
	])
	const script = names.map((name) => `printf %s ${quote(name)} > ${quote(`/home/user/${name}`)}`).join('\n')
	const program = quote('/tmp/<b onclick=x>')
	await shell(
		sbx,
		`rm -f /home/user/*; ${script}; cp /bin/sleep ${program}; (exec ${program} 600 >/dev/null 2>&1 &)`,
		{ user: 'user' },
	)
	await visit({}, async (page) => {
		await goto(page, at('files'))
		await page.waitForFunction(
			(n) => document.querySelectorAll('[role=treeitem]').length >= n,
			names.length,
		)
		await page.getByRole('treeitem', { name: CORPUS[1] }).click()
		await page.locator('[data-editor] .cm-content').getByText(CORPUS[1].replaceAll('/', '∕')).waitFor()
		await harmless(page)
		await page.getByRole('treeitem', { name: 'new␊line' }).click()
		await page.getByText('new␊line').nth(1).waitFor()
		await page.getByRole('tab', { name: 'Processes' }).click()
		await page.getByText('<b onclick=x>').first().waitFor()
		await harmless(page)
		await page.getByRole('tab', { name: 'Logs' }).click()
		await page.getByText('sandbox created').waitFor()
		await harmless(page)
	})
})

test('printed text, results, errors, HTML, SVG and Markdown of cells', { skip }, async () => {
	const all = JSON.stringify(CORPUS)
	await visit({}, async (page) => {
		await goto(page, at('cells'))
		await run(
			page,
			`from IPython.display import display, HTML, SVG, Markdown, Javascript, Latex\nall = ${all}\n` +
				'for t in all: print(t)',
		)
		await run(page, 'for t in all: display(HTML(t + "<p>shown</p>"))')
		await run(
			page,
			`for t in all: display(SVG(data="<svg xmlns='http://www.w3.org/2000/svg' width='10' ` +
				`onload='window.__ran=1'><script>parent.__ran=1</script></svg>"))`,
		)
		await run(
			page,
			'for t in all: display(Markdown(t)); display(Latex(t))\ndisplay(Javascript("window.__ran=1"))',
		)
		await run(page, 'raise ValueError("".join(all))')
		await done(page, 5)
		await page.frameLocator('iframe.frame').nth(1).getByText('shown').waitFor()
		await harmless(page)
		const frames = page.frames().filter((f) => f.url().endsWith('/frame.html'))
		assert.ok(frames.length >= CORPUS.length, `${frames.length} frames`)
		for (const frame of frames) assert.equal(await frame.evaluate(() => origin), 'null')
	})
})

test('a terminal that floods, and one that gets every control sequence', { skip }, async () => {
	await visit({}, async (page) => {
		await goto(page, at('terminal'))
		await page.locator('[data-terminal=open]').waitFor()
		await page.locator('.xterm-helper-textarea').focus()
		await page.keyboard.type(
			'head -c 300000 /dev/urandom; reset; yes "$(printf %0100d 7)" | head -c 8000000; echo; ' +
				'echo "the end: $((40+2))"\n',
		)
		await page.waitForFunction(
			() => document.querySelector('.xterm-rows')?.textContent.includes('the end: 42'),
			undefined,
			{ timeout: 170000 },
		)
		const nodes = await page.evaluate(() => document.querySelectorAll('*').length)
		assert.ok(nodes < 20000, `${nodes} elements`)
		await harmless(page)
	})
})

test('a cell that prints 100 MB: the end is shown, the page stays small', { skip }, async () => {
	await visit({}, async (page) => {
		await goto(page, at('cells'))
		await page.locator('[data-editor] .cm-content').waitFor()
		const before = await page.locator('[data-state=done]').count()
		await run(
			page,
			'import sys\nfor i in range(100): sys.stdout.write(("%09d " % i) * 104857 + "\\n")\n' +
				'print("that was all")',
		)
		await page.getByText('that was all').last().waitFor({ timeout: 170000 })
		await done(page, before + 1)
		await page.getByText(/characters before this are left out/).waitFor()
		const [nodes, text] = await page.evaluate(() => [
			document.querySelectorAll('*').length,
			document.body.textContent.length,
		])
		assert.ok(nodes < 20000 && text < 3e6, `${nodes} elements, ${text} characters`)
		await run(page, '"alive " + str(6 * 7)')
		await page.getByText('alive 42', { exact: true }).waitFor()
	})
})

test('a file of 1 GB: its beginning is shown, and no more is fetched', { skip }, async () => {
	assert.equal((await api('PATCH', `${at()}/limits`, { diskMB: 2048 })).status, 200)
	await shell(
		sbx,
		'cd /home/user; rm -f *; printf "the beginning\\n" > big.txt; ' +
			'yes "0123456789abcdef" | head -c 4000000 >> big.txt; truncate -s 1G big.txt hole.bin',
		{ user: 'user' },
	)
	await visit({}, async (page) => {
		await goto(page, at('files'))
		await page.getByRole('treeitem', { name: 'big.txt' }).click()
		await page.locator('[data-editor] .cm-content').getByText('the beginning').waitFor()
		await page.getByText('The file has 1.0 GiB').waitFor()
		await page.getByRole('treeitem', { name: 'hole.bin' }).click()
		await page.getByLabel('Bytes of the file').waitFor()
		await page.getByText('The file has 1.0 GiB').waitFor()
	})
})

function quote(text) {
	return `'${text.replaceAll("'", `'\\''`)}'`
}
