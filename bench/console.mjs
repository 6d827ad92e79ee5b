// SPDX-License-Identifier: Apache-2.0
// The web console in Chromium on loopback: first paint, interactive, scrolling a long list, echo of keys, a cell.
import { goto, login, noBrowser, visitor, closeBrowser } from '../tests/lib/browser.mjs'
import { api, createRaw } from '../tests/lib/client.mjs'
import { cpuSeconds, frontOf, stats } from './measure.mjs'
import { rssOf } from '../tests/lib/host.mjs'

export const CONFIG = { log_level: 'warn' }
const ROWS = 5000
const OPEN = 50
const PER_KEY = 10 // a key has 32 sessions at most
const SETTLE_MS = 20000

// A cold cache each time; interactive: the page that was asked for has answered.
async function load(who) {
	const cdp = await who.context.newCDPSession(who.page)
	await cdp.send('Network.clearBrowserCache')
	await who.page.goto('/console/keys')
	await who.page.getByRole('table', { name: 'API keys' }).waitFor()
	const got = await who.page.evaluate(() => ({
		paint: performance.getEntriesByName('first-contentful-paint')[0].startTime,
		interactive: performance.now(),
	}))
	await cdp.detach()
	return got
}

// From setting the position to the frame in which the rows are there.
function scrolls(page, n) {
	return page.evaluate(async (times) => {
		const el = document.querySelector('.scroller')
		const took = []
		for (let i = 1; i <= times; i++) {
			const top = (el.scrollHeight * i) / (times + 1)
			const first = String(Math.floor(top / 44) + 1)
			const begun = performance.now()
			el.scrollTop = top
			const there = () => document.querySelector(`[data-id$="${first.padStart(6, '0')}"]`)
			while (!there()) await new Promise(requestAnimationFrame)
			took.push(performance.now() - begun)
		}
		return took
	}, n)
}

async function list(who, server, n) {
	const now = Date.now()
	const rows = Array.from({ length: ROWS }, (_, i) => ({
		templateID: 'base',
		sandboxID: `i${String(i).padStart(19, '0')}`,
		startedAt: new Date(now - i * 1000).toISOString(),
		endAt: new Date(now + 3600000).toISOString(),
		state: 'running',
		cpuCount: 2,
		memoryMB: 512,
		metadata: { n: String(i) },
	}))
	await who.page.route(
		(url) => url.pathname === '/sandboxes',
		(route) => route.fulfill({ json: rows }),
	)
	await who.page.goto('/console/sandboxes')
	await who.page.locator('.scroller [data-id]').first().waitFor()
	const took = await scrolls(who.page, n)
	await who.page.unrouteAll()
	return took
}

// From a key to its letter on the screen, both in the page.
function echoes(page, n) {
	return page.evaluate(async (times) => {
		const input = document.querySelector('.xterm-helper-textarea')
		const rows = document.querySelector('.xterm-rows')
		const took = []
		for (let i = 0; i < times; i++) {
			const before = rows.textContent
			const seen = new Promise((done) => {
				const look = new MutationObserver(() => {
					if (rows.textContent === before) return
					look.disconnect()
					done()
				})
				look.observe(rows, { childList: true, subtree: true, characterData: true })
			})
			const begun = performance.now()
			const data = new DataTransfer()
			data.setData('text/plain', 'x')
			input.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true }))
			await seen
			took.push(performance.now() - begun)
			await new Promise((done) => setTimeout(done, 30))
		}
		return took
	}, n)
}

// From the click that runs "1+1" to its output.
async function cells(page, n) {
	const editor = page.locator('[data-editor] .cm-content')
	const took = []
	for (let i = 0; i <= n; i++) {
		await editor.click()
		await page.keyboard.insertText('1+1')
		const ms = await page.evaluate(async () => {
			const count = () => document.querySelectorAll('.outputs').length
			const before = count()
			const button = document.querySelector('.cell .btn.primary')
			while (button.disabled) await new Promise(requestAnimationFrame)
			const seen = new Promise((done) => {
				const look = new MutationObserver(() => count() > before && (look.disconnect(), done()))
				look.observe(document.querySelector('main'), { childList: true, subtree: true })
			})
			const begun = performance.now()
			button.click()
			await seen
			return performance.now() - begun
		})
		if (i > 0) took.push(ms)
	}
	return took
}

const wait = (ms) => new Promise((done) => setTimeout(done, ms))

// Memory of the front with that many browsers at the console, each on a page that asks again and again.
async function openOnes(server, sbx) {
	const opt = { base: server.url, key: server.key }
	const front = frontOf(server)
	const before = rssOf(front)
	const pages = ['', '/sandboxes', '/audit', '/terminal', '/files', '/metrics', '/logs', '/processes']
	const all = []
	let most = 0
	try {
		let key
		for (let i = 0; i < OPEN; i++) {
			if (i % PER_KEY === 0)
				key = (await api('POST', '/api-keys', { name: `console-${i}` }, opt)).json.key
			const who = await visitor({ ...opt, width: 1000, height: 700 })
			all.push(who)
			await login(who.page, key)
			const at = pages[i % pages.length]
			const of = ['', '/sandboxes', '/audit'].includes(at) ? at : `/sandboxes/${sbx.sandboxID}${at}`
			await goto(who.page, of || '/')
			most = Math.max(most, rssOf(front))
		}
		for (const end = Date.now() + SETTLE_MS; Date.now() < end; await wait(500))
			most = Math.max(most, rssOf(front))
		return { n: OPEN, before, most, after: rssOf(front) }
	} finally {
		for (const who of all) await who.close()
	}
}

// The front's share of a core over some time, in percent.
async function share(server, minutes) {
	const front = frontOf(server)
	const [cpu, begun] = [cpuSeconds(front), performance.now()]
	await wait(minutes * 60000)
	const seconds = (performance.now() - begun) / 1000
	return { seconds, percent: (100 * (cpuSeconds(front) - cpu)) / seconds }
}

// One console that is left open at the overview, whose page asks most often; and nobody.
async function leftOpen(server, minutes) {
	const idle = await share(server, Math.min(minutes, 5))
	const who = await visitor({ base: server.url })
	try {
		await login(who.page, server.key)
		return { idle, open: await share(server, minutes) }
	} finally {
		await who.close()
	}
}

export async function consoles(server, quick, minutes = quick ? 1 : 5) {
	if (noBrowser) return { skipped: noBrowser }
	const n = quick ? 10 : 50
	const opt = { base: server.url, key: server.key }
	const who = await visitor(opt)
	try {
		await login(who.page, server.key)
		const loads = []
		for (let i = 0; i <= (quick ? 3 : 10); i++) loads.push(await load(who))
		const scroll = await list(who, server, n)
		const sbx = await createRaw({ templateID: 'code-interpreter-v1', timeout: 600, secure: true }, opt)
		await goto(who.page, `/sandboxes/${sbx.sandboxID}/terminal`)
		await who.page.locator('[data-terminal=open]').waitFor()
		const echo = await echoes(who.page, n)
		await goto(who.page, `/sandboxes/${sbx.sandboxID}/cells`)
		await who.page.locator('[data-editor] .cm-content').waitFor()
		const cell = await cells(who.page, n)
		await who.close()
		const many = await openOnes(server, sbx)
		const left = await leftOpen(server, minutes)
		return {
			many,
			left,
			paint: stats(loads.slice(1).map((l) => l.paint)),
			interactive: stats(loads.slice(1).map((l) => l.interactive)),
			scroll: stats(scroll),
			echo: stats(echo),
			cell: stats(cell),
		}
	} finally {
		await who.close()
		await closeBrowser()
	}
}
