// SPDX-License-Identifier: Apache-2.0
// The official command line client: where it is installed.
import path from 'node:path'
import { server } from '../lib/client.mjs'
import { installPackages } from '../lib/npm.mjs'

const DIR = path.join(server.buildDir, 'test-clients/cli')
export const PACKAGE = path.join(DIR, 'node_modules/@e2b/cli')
export const PROGRAM = path.join(PACKAGE, 'dist/index.js')

// Why that is impossible, else null.
export function installCli() {
	const [major, minor, patch] = process.versions.node.split('.').map(Number)
	const old =
		major < 20 ||
		major === 21 ||
		(major === 20 && minor * 100 + patch < 1801) ||
		(major === 22 && minor < 9)
	if (old) return `@e2b/cli needs node 20.18.1 or 22.9, this is ${process.versions.node}`
	return installPackages(DIR, { '@e2b/cli': '^2.19.0' })
}
