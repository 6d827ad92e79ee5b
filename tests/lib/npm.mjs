// SPDX-License-Identifier: Apache-2.0
// The official client packages, installed once below the build directory.
import fs from 'node:fs'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'

// `e2b` is the current SDK (v2 calls); the aliases are older generations that must keep working.
const PACKAGES = {
	e2b: '^2.51.0',
	'e2b-v1calls': 'npm:e2b@2.49.0',
	'e2b-old': 'npm:e2b@1.13.2',
	'@e2b/code-interpreter': '^2.8.0',
	'code-interpreter-old': 'npm:@e2b/code-interpreter@1.5.1',
	ssh2: '^1.16.0',			// an SSH server for git's sake, run inside a sandbox
	'@connectrpc/connect-node': '^2.2.0',	// the Connect client that can speak protobuf
}

// Installs the packages; returns the reason when that is impossible, else null.
export function installClients(dir) {
	const want = JSON.stringify({ private: true, dependencies: PACKAGES }, null, '\t') + '\n'
	const manifest = path.join(dir, 'package.json')
	const stamp = path.join(dir, 'installed')
	fs.mkdirSync(dir, { recursive: true })
	if (fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === want)
		return null
	fs.writeFileSync(manifest, want)
	const run = spawnSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'],
		{ cwd: dir, encoding: 'utf8', timeout: 300000 })
	if (run.status !== 0)
		return `npm could not install the client packages: ${(run.error?.message ?? run.stderr).trim().split('\n')[0]}`
	fs.writeFileSync(stamp, want)
	return null
}

export function clientPackage(name = 'e2b') {
	const dir = process.env.ATOLL_TEST_NPM
	if (!dir)
		throw new Error('ATOLL_TEST_NPM is not set: run this through tests/run')
	return createRequire(path.join(dir, 'package.json'))(name)
}
