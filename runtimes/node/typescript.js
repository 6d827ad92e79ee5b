// SPDX-License-Identifier: Apache-2.0
// TypeScript to JavaScript: types are taken away, not checked.
'use strict'
const { spawnSync } = require('node:child_process')

const ESBUILD = '/usr/bin/esbuild'
// Imports stay even when this cell does not use them: the next one may.
const OPTIONS = ['--loader=ts', '--target=esnext', '--log-level=error', '--color=false', '--sourcefile=cell.ts',
	'--tsconfig-raw={"compilerOptions":{"verbatimModuleSyntax":true,"experimentalDecorators":true}}']
const OUTPUT_MAX = 64 * 1024 * 1024

function strip(code) {
	const done = spawnSync(ESBUILD, OPTIONS, { input: code, encoding: 'utf8', maxBuffer: OUTPUT_MAX })
	if (done.error)
		throw done.error
	if (done.status !== 0) {
		const err = new SyntaxError(done.stderr.replace(/^✘ \[ERROR\] /, '').trim().split('\n')[0])
		err.stack = done.stderr.trim()
		throw err
	}
	return done.stdout
}

module.exports = { strip }
