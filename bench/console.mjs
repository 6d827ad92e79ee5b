// SPDX-License-Identifier: Apache-2.0
// The web console in Chromium on loopback: first paint, interactive, scrolling a long list, echo of keys, a cell.
import { goto, login, noBrowser, visitor, closeBrowser } from '../tests/lib/browser.mjs'
import { createRaw } from '../tests/lib/client.mjs'
import { stats } from './measure.mjs'

export const CONFIG = { log_level: 'warn' }
const ROWS = 5000

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

export async function consoles(server, quick) {
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
		return {
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
