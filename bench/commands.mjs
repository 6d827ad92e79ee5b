// SPDX-License-Identifier: Apache-2.0
// Commands in plain sandboxes, with the official SDK: the first one, later ones, the end, and a crowd.
import { linksOf, remains, rssOf, sleep, traceOf } from '../tests/lib/host.mjs'
import { daemonRss, stats, timed } from './measure.mjs'

async function addressOf(sbx) {
	return (await sbx.commands.run('hostname -I')).stdout.trim().split(' ')[0]
}

async function firstCommand(Sandbox, n) {
	const total = [],
		create = []
	for (let i = 0; i < n; i++) {
		let sbx
		total.push(
			await timed(async () => {
				create.push(
					await timed(async () => {
						sbx = await Sandbox.create('base', { timeoutMs: 60000 })
					}),
				)
				await sbx.commands.run('true')
			}),
		)
		await sbx.kill()
	}
	return { create: stats(create), total: stats(total) }
}

async function commandTrip(Sandbox, n) {
	const sbx = await Sandbox.create('base', { timeoutMs: 300000 })
	try {
		const trip = []
		for (let i = 0; i < n + 5; i++) {
			const ms = await timed(() => sbx.commands.run('true'))
			if (i >= 5) trip.push(ms)
		}
		const code = `
import os, time, sys
for i in range(${n} + 5):
    t = time.perf_counter()
    p = os.posix_spawn("/bin/bash", ["/bin/bash", "-l", "-c", "true"], os.environ)
    os.waitpid(p, 0)
    if i >= 5: print((time.perf_counter() - t) * 1000)
`
		await sbx.files.write('/tmp/floor.py', code)
		const floor = (await sbx.commands.run('python3 /tmp/floor.py', { timeoutMs: 120000 })).stdout
			.trim()
			.split('\n')
			.map(Number)
		return { trip: stats(trip), floor: stats(floor) }
	} finally {
		await sbx.kill()
	}
}

// kill → processes and cgroups gone (mounts live in the sandbox's mount namespace and go with its last process).
async function killTimes(server, Sandbox, n) {
	const answer = [],
		gone = [],
		link = []
	for (let i = 0; i < n; i++) {
		const sbx = await Sandbox.create('base', { timeoutMs: 60000 })
		await sbx.commands.run('sleep 300', { background: true })
		const trace = traceOf(server.slot, await addressOf(sbx))
		if (!trace.pids.length || !trace.cgroups.length)
			throw new Error(`nothing found of ${sbx.sandboxId} on the host`)
		const began = performance.now()
		await sbx.kill()
		answer.push(performance.now() - began)
		while (remains(trace).length) {
			if (performance.now() - began > 10000) throw new Error(`still there: ${remains(trace)}`)
			await sleep(1)
		}
		gone.push(performance.now() - began)
		while (linksOf(server.slot).includes(trace.link) && performance.now() - began < 10000) await sleep(2)
		link.push(performance.now() - began)
	}
	return { answer: stats(answer), gone: stats(gone), link: stats(link) }
}

async function crowd(server, Sandbox, n) {
	const began = performance.now()
	const each = []
	const made = await Promise.allSettled(
		Array.from({ length: n }, async () => {
			const t = performance.now()
			const sbx = await Sandbox.create('base', { timeoutMs: 300000 })
			each.push(performance.now() - t)
			return sbx
		}),
	)
	const createMs = performance.now() - began
	const all = made.filter((m) => m.status === 'fulfilled').map((m) => m.value)
	const answers = await Promise.allSettled(all.map((sbx) => sbx.commands.run('echo "$E2B_SANDBOX_ID"')))
	const good = answers.filter(
		(a, i) => a.status === 'fulfilled' && a.value.stdout.trim() === all[i].sandboxId,
	).length
	const rss = daemonRss(server)
	const inits = all.length ? traceOf(server.slot, await addressOf(all[0])).pids : []
	const init = inits.length ? rssOf(inits[0]) : 0
	const killMs = await timed(() => Promise.allSettled(all.map((sbx) => sbx.kill())))
	return { asked: n, created: all.length, good, createMs, create: stats(each), killMs, rss, initRss: init }
}

export async function commands(server, Sandbox, quick) {
	await firstCommand(Sandbox, 3) /* warm-up */
	return {
		first: await firstCommand(Sandbox, quick ? 10 : 50),
		command: await commandTrip(Sandbox, quick ? 50 : 300),
		kill: await killTimes(server, Sandbox, quick ? 5 : 30),
		crowd: await crowd(server, Sandbox, quick ? 20 : 100),
	}
}
