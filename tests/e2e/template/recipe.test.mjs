// SPDX-License-Identifier: Apache-2.0
// Debian recipes as the base of templates: mmdebstrap and apt run in sandboxes, and never as anybody of the host. See
// docs/templates.md.
import { test } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { api, sdk, server } from '../../lib/client.mjs'
import { newServer } from '../../lib/server.mjs'
import { poolOf, slotOf, until } from '../../lib/host.mjs'

const { Sandbox, Template } = sdk()
const SUITE = 'bookworm'

// Whether sandboxes reach the mirror that the host's own apt uses.
async function unreachable() {
	const sbx = await Sandbox.create('base', { timeoutMs: 60000 })
	try {
		const cmd =
			`/usr/lib/apt/apt-helper download-file "$(awk '/^URIs:/ { print $2; exit }' ` +
			`/etc/apt/sources.list.d/debian.sources)dists/${SUITE}/InRelease" /tmp/release`
		const out = await sbx.commands.run(cmd, { timeoutMs: 30000 }).catch((e) => e)
		return out.exitCode === 0
			? false
			: `no Debian mirror can be reached from a sandbox: ${out.stderr ?? out.message}`
	} finally {
		await sbx.kill()
	}
}
const skip = await unreachable()

// Processes of that name on this host, with who they are to it.
function running(name) {
	return fs
		.readdirSync('/proc')
		.filter((pid) => /^\d+$/.test(pid))
		.flatMap((pid) => {
			try {
				const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8')
				return /^Name:\t(.*)/.exec(status)[1] === name
					? [Number(/^Uid:\t(\d+)/m.exec(status)[1])]
					: []
			} catch {
				return []
			}
		})
}

// What the pool of a server has beside its templates: sandboxes ("i...") and what is kept.
const workOf = (own) => poolOf(own).filter((n) => n.includes('+') || n.startsWith('i'))

test('a recipe becomes a template; its system is made once, in a sandbox', { skip, timeout: 300000 }, async () => {
	const own = await newServer(server.buildDir, {}).start()
	const opts = { apiKey: own.key, apiUrl: own.url, sandboxUrl: own.url }
	const build = async (template, name, more = {}) => {
		const lines = []
		await Template.build(template, name, {
			...opts,
			cpuCount: 2,
			memoryMB: 512,
			onBuildLogs: (l) => lines.push(l.message),
			...more,
		}).catch((e) => {
			throw Object.assign(e, { lines })
		})
		return lines
	}
	const sh = async (name, cmd) => {
		const sbx = await Sandbox.create(name, { ...opts, timeoutMs: 60000 })
		try {
			return (await sbx.commands.run(cmd)).stdout.trim()
		} finally {
			await sbx.kill()
		}
	}
	const low = 0x10000000 + slotOf(own.pid) * 0x08000000
	const seen = new Set()
	const look = setInterval(
		() =>
			running('mmdebstrap')
				.filter((uid) => uid >= low && uid < low + 0x08000000)
				.forEach((uid) => seen.add(uid)),
		100,
	)
	try {
		const first = await build(
			Template().fromImage(`mmdebstrap:${SUITE},hello,file`).runCmd('hello > /home/user/said'),
			'recipe',
		)
		assert.ok(seen.size > 0, "mmdebstrap was a process of this server's sandboxes")
		assert.ok(
			first.some((l) => /installing packages: 2/.test(l)),
			first.join('\n'),
		)
		assert.equal(
			await sh(
				'recipe',
				'cat said; . /etc/os-release; echo $VERSION_CODENAME; whoami; file -b /bin/sh | cut ' +
					'-c1-8; ls /var/tmp | wc -l',
			),
			`Hello, world!\n${SUITE}\nuser\nsymbolic\n0`,
		)

		const again = await build(
			Template().fromImage(`mmdebstrap:${SUITE},hello,file`).runCmd('hello > /home/user/said'),
			'recipe',
		)
		assert.ok(
			again.includes(`CACHED [base] mmdebstrap:${SUITE},hello,file`) &&
				again.includes('CACHED [finalize]'),
			again.join('\n'),
		)

		const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-recipe-'))
		fs.writeFileSync(
			path.join(dir, 'Dockerfile'),
			`FROM mmdebstrap:${SUITE},cowsay\nRUN perl /usr/games/cowsay moo > /moo\n`,
		)
		const cli = spawnSync(
			path.join(server.buildDir, 'src/cli/atoll'),
			[
				'template',
				'build',
				dir,
				'-t',
				'docker',
				'--memory-mb',
				'512',
				'--api-url',
				own.url,
				'--api-key',
				own.key,
			],
			{ encoding: 'utf8' },
		)
		fs.rmSync(dir, { recursive: true })
		assert.equal(cli.status, 0, cli.stderr)
		assert.match(cli.stderr, /CACHED \[base\] the bare system/)
		assert.match(await sh('docker', 'cat /moo'), /moo/)

		for (const [image, why] of [
			[
				`mmdebstrap:${SUITE},no-such-package-at-all`,
				/packages could not be installed: exit status 100/,
			],
			['mmdebstrap:no-such-suite', /mmdebstrap could not make it: exit status 1/],
			['mmdebstrap:', /the name of a suite is empty/],
			[`mmdebstrap:${SUITE},$(id)`, /'\$\(id\)' is not the name of a package/],
			[`mmdebstrap:${SUITE},-oDebug=1`, /is not the name of a package/],
		])
			await assert.rejects(build(Template().fromImage(image), 'bad'), why)
		await assert.rejects(
			build(Template().fromImage(`mmdebstrap:${SUITE},no-such-package-at-all`), 'bad'),
			(e) => e.lines.some((l) => /Unable to locate package no-such-package-at-all/.test(l)),
		)
	} finally {
		clearInterval(look)
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
})

test('a recipe that is called off leaves nothing', { skip, timeout: 120000 }, async () => {
	const own = await newServer(server.buildDir, {}).start()
	const opt = { base: own.url, key: own.key }
	try {
		const before = workOf(own)
		const { templateID, buildID } = (
			await api('POST', '/v3/templates', { name: 'off', memoryMB: 512 }, opt)
		).json
		assert.equal(
			(
				await api(
					'POST',
					`/v2/templates/${templateID}/builds/${buildID}`,
					{ fromImage: `mmdebstrap:${SUITE}` },
					opt,
				)
			).status,
			202,
		)
		const status = async () =>
			(await api('GET', `/templates/${templateID}/builds/${buildID}/status`, undefined, opt)).json
		assert.ok(
			await until(async () => (await status()).logEntries.some((l) => /I: /.test(l.message)), 60000),
			'mmdebstrap is at work',
		)
		assert.equal((await api('DELETE', `/templates/off/builds/${buildID}`, undefined, opt)).status, 204)
		assert.ok(await until(() => workOf(own).length === before.length, 10000), workOf(own).join())
	} finally {
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
})
