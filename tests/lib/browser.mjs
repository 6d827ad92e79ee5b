// SPDX-License-Identifier: Apache-2.0
// The web console in a real browser: Debian's Chromium, driven by playwright-core.
import fs from 'node:fs'
import path from 'node:path'
import assert from 'node:assert/strict'
import { clientPackage } from './npm.mjs'
import { server } from './client.mjs'

const PROGRAMS = ['/usr/bin/chromium', '/usr/bin/chromium-browser']
const program = PROGRAMS.find((name) => fs.existsSync(name))
export const noBrowser = program ? false : 'chromium is not installed'
const STEP_MS = 60000 // for hangs alone: the machine may be busy

// Artefacts of a run: screenshots of all pages.
export const SHOTS = path.join(server?.buildDir ?? 'build', 'console-shots')

let browser

export async function openBrowser() {
	const { chromium } = clientPackage('playwright-core')
	browser ??= await chromium.launch({
		executablePath: program,
		args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
		timeout: STEP_MS,
	})
	return browser
}

export async function closeBrowser() {
	await browser?.close()
	browser = undefined
}

// What a page did wrong: errors of its scripts, what its policy refused, dialogs that an injected script opened.
function watch(page) {
	page.wrong = []
	page.on('pageerror', (err) => page.wrong.push(`error: ${err.message}`))
	page.on('console', (m) => {
		// the frame for HTML of cells has a policy of its own, which may have to act
		if (m.location().url.endsWith('/frame.html')) return
		if (/Content Security Policy|Trusted ?Type/i.test(m.text())) page.wrong.push(m.text())
	})
	page.on('dialog', (d) => {
		page.wrong.push(`dialog: ${d.message()}`)
		void d.dismiss()
	})
	page.setDefaultTimeout(STEP_MS)
	return page
}

// A browser of its own (cookies, storage) at the console.
export async function visitor({
	base = server.url,
	dark = false,
	width = 1360,
	height = 860,
	context: more = {},
} = {}) {
	const context = await (
		await openBrowser()
	).newContext({
		baseURL: base,
		viewport: { width, height },
		colorScheme: dark ? 'dark' : 'light',
		acceptDownloads: true,
		permissions: ['clipboard-read', 'clipboard-write'],
		...more,
	})
	await context.addInitScript(() => {
		if (window !== top) return
		addEventListener('securitypolicyviolation', (e) =>
			console.error(`Content Security Policy: ${e.violatedDirective}`),
		)
	})
	const page = watch(await context.newPage())
	return { context, page, tab: async () => watch(await context.newPage()), close: () => context.close() }
}

export async function login(page, key = server.key, to = '/console/') {
	await page.goto(to)
	await page.getByLabel('API key').fill(key)
	await page.getByRole('button', { name: 'Log in', exact: true }).click()
	await page.locator('#content').waitFor()
}

export async function goto(page, to) {
	await page.goto(`/console${to}`)
	await page.locator('#content').waitFor()
}

// A logged-in visitor for as long as `use` takes; nothing may have gone wrong in the page.
export async function visit(options, use) {
	const who = await visitor(options)
	try {
		await login(who.page, options.key, options.to)
		const got = await use(who.page, who)
		assert.deepEqual(who.page.wrong, [])
		return got
	} finally {
		await who.close()
	}
}

// Serious findings of axe-core, each as one line.
export async function axe(page) {
	const source = fs.readFileSync(
		path.join(process.env.ATOLL_TEST_NPM, 'node_modules/axe-core/axe.min.js'),
		'utf8',
	)
	await page.evaluate(source)
	const found = await page.evaluate(() =>
		globalThis.axe.run(document, { iframes: false, resultTypes: ['violations'] }),
	)
	return found.violations
		.filter((v) => ['serious', 'critical'].includes(v.impact))
		.flatMap((v) =>
			v.nodes.map((n) => `${v.id}: ${n.target.join(' ')} ${n.failureSummary?.split('\n')[1] ?? ''}`),
		)
}

export async function shot(page, name) {
	fs.mkdirSync(SHOTS, { recursive: true })
	await page.screenshot({ path: path.join(SHOTS, `${name}.png`) })
}
