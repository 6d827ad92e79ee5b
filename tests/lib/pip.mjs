// SPDX-License-Identifier: Apache-2.0
// Python packages in a virtual environment. Where PyPI cannot be reached the reason is returned: tests skip with it.
import fs from 'node:fs'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { exclusively, patiently } from './npm.mjs'

const LIMIT_MS = 240000

// Returns the reason when it is impossible, else null; the interpreter is DIR/bin/python.
export function installPython(dir, packages) {
	return exclusively(dir, () => install(dir, packages))
}

function install(dir, packages) {
	const want = packages.join('\n') + '\n'
	const stamp = path.join(dir, 'installed')
	if (fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === want) return null
	const venv = spawnSync('python3', ['-m', 'venv', '--clear', dir], { encoding: 'utf8' })
	if (venv.status !== 0) return 'python3 with venv is missing'
	const pip = patiently(() =>
		spawnSync(
			`${dir}/bin/python`,
			['-m', 'pip', 'install', '-q', '--disable-pip-version-check', ...packages],
			{ encoding: 'utf8', timeout: LIMIT_MS },
		),
	)
	if (pip.status !== 0) {
		const why = (pip.error?.message ?? pip.stderr).trim().split('\n').at(-1)
		return `pip could not install ${packages.join(' ')}: ${why}`
	}
	fs.writeFileSync(stamp, want)
	return null
}
