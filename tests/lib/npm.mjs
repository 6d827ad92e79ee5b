// SPDX-License-Identifier: Apache-2.0
// npm packages for tests, each set in a directory of its own below the build directory, installed once.
import fs from 'node:fs'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'

const LIMIT_MS = 300000
const TRIES = 3,
	AGAIN_MS = 90000

// A registry may fail for once: tries again what did not work, but not for long, as without a network it never will.
export function patiently(install) {
	const end = Date.now() + AGAIN_MS
	for (let tries = 1; ; tries++) {
		const run = install()
		if (run.status === 0 || tries === TRIES || Date.now() > end) return run
	}
}

// For the end-to-end tests; `e2b` is the current SDK (v2 calls). tests/compat has sets of its own.
const PACKAGES = {
	e2b: '^2.51.0',
	'e2b-v1calls': 'npm:e2b@2.49.0',
	'e2b-old': 'npm:e2b@1.13.2',
	'@e2b/code-interpreter': '^2.8.0',
	'code-interpreter-old': 'npm:@e2b/code-interpreter@1.5.1',
	ssh2: '^1.16.0', // an SSH server for git's sake, run inside a sandbox
	'@connectrpc/connect-node': '^2.2.0', // the Connect client that can speak protobuf
	'playwright-core': '1.65.1', // drives the machine's Chromium; it fetches no browser
	'oidc-provider': '9.13.3', // a certified OpenID provider, for log-in to the console
	'axe-core': '4.14.0', // finds what a screen reader or a keyboard cannot use
}

// One at a time of all processes that want the same directory: files of several lanes use the same set of packages.
export function exclusively(dir, work) {
	const lock = `${dir}.lock`
	fs.mkdirSync(path.dirname(dir), { recursive: true })
	for (;;) {
		try {
			fs.writeFileSync(lock, String(process.pid), { flag: 'wx' })
			break
		} catch (err) {
			if (err.code !== 'EEXIST') throw err
		}
		const holder = fs.existsSync(lock) ? fs.readFileSync(lock, 'utf8') : ''
		if (holder && !fs.existsSync(`/proc/${holder}`)) fs.rmSync(lock, { force: true }) /* it was killed */
		Atomics.wait(
			new Int32Array(new SharedArrayBuffer(4)),
			0,
			0,
			200,
		) /* no callback can come: all here is synchronous */
	}
	try {
		return work()
	} finally {
		fs.rmSync(lock, { force: true })
	}
}

// Installs packages (name: version); `more` is merged into the manifest. Returns the reason when that is impossible,
// else null.
export function installPackages(dir, packages, more = {}) {
	return exclusively(dir, () => install(dir, packages, more))
}

function install(dir, packages, more) {
	const want = JSON.stringify({ private: true, dependencies: packages, ...more }, null, '\t') + '\n'
	const stamp = path.join(dir, 'installed')
	if (fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === want) return null
	const run = patiently(() => {
		fs.rmSync(dir, { recursive: true, force: true })
		fs.mkdirSync(dir, { recursive: true })
		fs.writeFileSync(path.join(dir, 'package.json'), want)
		return spawnSync(
			'npm',
			['install', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'],
			{ cwd: dir, encoding: 'utf8', timeout: LIMIT_MS },
		)
	})
	if (run.status !== 0) {
		const why = (run.error?.message ?? run.stderr).trim().split('\n')[0]
		return `npm could not install ${Object.keys(packages).join(', ')}: ${why}`
	}
	fs.writeFileSync(stamp, want)
	return null
}

export function installClients(dir) {
	return installPackages(dir, PACKAGES)
}

export function clientPackage(name = 'e2b') {
	const dir = process.env.ATOLL_TEST_NPM
	if (!dir) throw new Error('ATOLL_TEST_NPM is not set: run this through tests/run')
	return createRequire(path.join(dir, 'package.json'))(name)
}
