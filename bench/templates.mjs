// SPDX-License-Identifier: Apache-2.0
// Templates: a rebuild with all steps cached, a step against the same command by hand, and a sandbox of a custom
// template against one of the default.
import { stats, timed } from './measure.mjs'
import { sleep, until } from '../tests/lib/host.mjs'

export const CONFIG = {
	log_level: 'warn',
	pool_size_mb: 4096,
	pool_max_mb: 16384,
	warm_pool_size: 4,
	default_memory_mb: 1024,
	default_disk_mb: 2048,
}

// A wheel with many files, made on the spot: installing it is work for the disk and for Python, none for the network.
const WHEEL = `python3 - <<'EOF'
import zipfile
name = 'atollbench-1.0.dist-info'
with zipfile.ZipFile('/home/user/atollbench-1.0-py3-none-any.whl', 'w') as z:
    files = [(f'atollbench/m{i}.py', f'x = {i}\\n' * 50) for i in range(600)]
    files += [(f'{name}/METADATA', 'Metadata-Version: 2.1\\nName: atollbench\\nVersion: 1.0\\n'),
        (f'{name}/WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')]
    for path, text in files:
        z.writestr(path, text)
    z.writestr(f'{name}/RECORD', ''.join(f'{path},,\\n' for path, _ in files) + f'{name}/RECORD,,\\n')
EOF`
const INSTALL = 'pip install --no-index --quiet /home/user/*.whl'
const SIZE = { cpuCount: 2, memoryMB: 1024 }

// How long the step took, as the log has it: from its own line to that of what came next.
function stepMs(entries, of) {
	const at = entries.findIndex((l) => l.message.startsWith(`[${of}] RUN`))
	const next = entries.findIndex(
		(l, i) => i > at && /^\[(builder|finalize)/.test(l.message) && !l.message.includes(']: '),
	)
	return entries[next].timestamp - entries[at].timestamp
}

async function creations(Sandbox, names, rounds) {
	const ms = Object.fromEntries(names.map((name) => [name, []]))
	for (let i = 0; i < rounds; i++) {
		for (const name of names) {
			let sbx
			ms[name].push(
				await timed(async () => {
					sbx = await Sandbox.create(name)
				}),
			)
			await sbx.kill()
			await sleep(300) // for the pool
		}
	}
	return names.map((name) => stats(ms[name]))
}

export async function templates(server, { Sandbox, Template }, quick) {
	Object.assign(process.env, server.env())
	const rounds = quick ? 3 : 7
	const base = () => Template().fromTemplate('base')
	const many = () => [1, 2, 3, 4, 5, 6].reduce((t, i) => t.runCmd(`echo ${i} > /home/user/f${i}`), base())
	const first = await timed(() => Template.build(many(), 'bench-steps', SIZE))
	const again = []
	for (let i = 0; i < rounds; i++) again.push(await timed(() => Template.build(many(), 'bench-steps', SIZE)))

	await Template.build(base().runCmd(WHEEL), 'bench-wheel', SIZE)
	const built = [],
		hand = []
	for (let i = 0; i < rounds; i++) {
		const entries = []
		await Template.build(Template().fromTemplate('bench-wheel').skipCache().runCmd(INSTALL), 'bench-pip', {
			...SIZE,
			onBuildLogs: (l) => entries.push(l),
		})
		built.push(stepMs(entries, 'builder 1/1'))
		const sbx = await Sandbox.create('bench-wheel')
		hand.push(await timed(() => sbx.commands.run(INSTALL)))
		await sbx.kill()
	}

	const ready = async (name) => {
		const sbx = await Sandbox.create(name)
		await sbx.kill()
		return until(
			async () =>
				(
					await (
						await fetch(`${server.url}/metrics`, {
							headers: { 'X-API-Key': server.key },
						})
					).text()
				).includes(`atoll_pool_ready{template="${name}"} `),
			30000,
			200,
		)
	}
	await ready('base')
	await ready('bench-pip')
	await sleep(4000)
	const [base2, custom] = await creations(Sandbox, ['base', 'bench-pip'], quick ? 10 : 30)
	return { first, again: stats(again), built: stats(built), hand: stats(hand), base: base2, custom }
}
