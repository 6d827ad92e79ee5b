// SPDX-License-Identifier: Apache-2.0
// The table: what was measured, what it must be, and whether it is.

const FLAT = 8 << 20 // how much a process may grow by while a file goes through, whatever its size

function row(name, value, goal = '', ok = null) {
	const met = ok === null ? '' : ok ? 'ok' : 'MISSED'
	console.log(`${name.padEnd(54)} ${value.padStart(34)}   ${goal.padEnd(12)} ${met}`)
	return ok !== false
}

const ms = (x) => `${x.toFixed(1)} ms`
const mb = (x) => `${(x / 1048576).toFixed(1)} MB`
const pair = (s) => `p50 ${ms(s.p50)}  p99 ${ms(s.p99)}`
const speed = (t) => `${t.ratio.toFixed(2)} (${t.api.p50.toFixed(0)} of ${t.plain.p50.toFixed(0)} MB/s)`
const count = (x) => Math.round(x).toLocaleString('en')

function printCommands(r) {
	let good = true
	good &= row('create → first commands.run', pair(r.first.total), '≤ 40 ms', r.first.total.p50 <= 40)
	good &= row('  of it create', pair(r.first.create))
	good &= row('commands.run("true")', pair(r.command.trip), '≤ 6 ms', r.command.trip.p50 <= 6)
	good &= row('  bash -l -c true alone, inside', pair(r.command.floor))
	good &= row('kill → processes, cgroups, mounts gone', pair(r.kill.gone), '≤ 50 ms', r.kill.gone.p50 <= 50)
	good &= row('  of it the answer to DELETE', pair(r.kill.answer))
	good &= row('  network link gone', pair(r.kill.link))
	good &= row(
		`${r.crowd.asked} sandboxes at once: all answer`,
		`${r.crowd.good} of ${r.crowd.asked}`,
		`${r.crowd.asked}`,
		r.crowd.good === r.crowd.asked,
	)
	good &= row('  all created within', ms(r.crowd.createMs))
	good &= row(
		`front memory with ${r.crowd.created} sandboxes`,
		mb(r.crowd.rss.front),
		'≤ 30 MB',
		r.crowd.rss.front <= 30 * 1048576,
	)
	good &= row(
		'  warden, egress, one atoll-init',
		[r.crowd.rss.warden, r.crowd.rss.egress, r.crowd.initRss].map(mb).join(', '),
	)
	return good
}

function printTransfer(t) {
	if (t.skipped) return row('upload, download', `skipped: ${t.skipped}`)
	let good = true
	const size = `${t.size >> 20} MiB`
	good &= row(`upload of ${size} against a plain loopback copy`, speed(t.upload), '≥ 0.5', t.upload.ratio >= 0.5)
	good &= row(
		`download of ${size} against a plain loopback copy`,
		speed(t.download),
		'≥ 0.5',
		t.download.ratio >= 0.5,
	)
	row(
		'  CPU seconds per GB of front and atoll-init, up',
		['front', 'init'].map((name) => t.upload.cpuPerGb[name].toFixed(2)).join(', '),
	)
	row(
		'  CPU seconds per GB of front and atoll-init, down',
		['front', 'init'].map((name) => t.download.cpuPerGb[name].toFixed(2)).join(', '),
	)
	for (const name of ['front', 'init']) {
		const grown = t.memory.most[name] - t.memory.before[name]
		good &= row(
			`  ${name === 'init' ? 'atoll-init' : name} memory before, most, after`,
			[t.memory.before, t.memory.most, t.memory.after].map((m) => mb(m[name])).join(', '),
			`+ ≤ ${FLAT >> 20} MB`,
			grown <= FLAT,
		)
	}
	return good
}

function printPorts(p) {
	let good = true
	const { direct, plain, tls1, tls2 } = p.speed
	const against = (way, what) => {
		const { ratio, p50 } = way[what]
		return { ratio, text: `${ratio.toFixed(2)} (${p50.toFixed(0)} of ${direct[what].p50.toFixed(0)} MB/s)` }
	}
	for (const [what, name] of [
		['down', 'from'],
		['up', 'to'],
	]) {
		const got = against(plain, what)
		good &= row(
			`${p.size >> 20} MiB ${name} a port inside against loopback`,
			got.text,
			'≥ 0.5',
			got.ratio >= 0.5,
		)
		row('  over TLS, HTTP/1.1', against(tls1, what).text)
		row('  over TLS, HTTP/2', against(tls2, what).text)
	}
	row('  front memory before, after', [p.memory.before, p.memory.after].map(mb).join(', '))
	const added = p.trip.plain.p50 - p.trip.direct.p50
	good &= row(
		'small request to a port inside, added to loopback',
		`p50 ${added.toFixed(2)} ms (${p.trip.plain.p50.toFixed(2)} of ${p.trip.direct.p50.toFixed(2)})`,
		'≤ 1 ms',
		added <= 1,
	)
	row('  over TLS, HTTP/2', `p50 ${(p.trip.tls2.p50 - p.trip.direct.p50).toFixed(2)} ms`)
	good &= row(
		`${count(p.streams.open)} open streams: front memory`,
		`${mb(p.streams.most)} (before ${mb(p.streams.before)})`,
		'≤ 60 MB',
		p.streams.open >= 1000 && p.streams.most <= 60e6,
	)
	for (const [name, h] of [
		['full', p.full],
		['resumed', p.resumed],
	])
		row(
			`TLS handshakes, ${name} (one client, 8 at a time)`,
			`${count(h.perSecond)} /s, ${h.cpuMs.toFixed(2)} ms of the front`,
		)
	return good
}

// By kind. The kinds do not add up: the kernel names no kind for some of it, such as parts of network devices.
function printCost(name, c) {
	const kb = (bytes) => `${(bytes / 1024).toFixed(0)}`
	const slab = c.SReclaimable + c.SUnreclaim
	row(`  ${name}`, `${kb(c.used)} kB; charged p50 ${kb(c.charged)}`)
	row('    processes, page tables, stacks', [c.AnonPages, c.PageTables, c.KernelStack].map(kb).join(', '))
	row('    slab (of it reclaimable), per processor', `${kb(slab)} (${kb(c.SReclaimable)}), ${kb(c.Percpu)}`)
	row('    file cache (of it shared memory)', `${kb(c.Cached)} (${kb(c.Shmem)})`)
	if (c.swapped >= 1024) row('    in swap, compressed to', `${kb(c.swapped)}, ${kb(c.zram)}`)
}

function printDensity(d) {
	const share = Object.entries(d.idle).map(([name, part]) => `${name} ${(part * 100).toFixed(1)} %`)
	let good = true
	row(
		`${d.live} live sandboxes (${d.template}): created in`,
		`${(d.ms / 1000).toFixed(0)} s, ${d.rate.toFixed(0)}/s, ${pair(d.create)}`,
	)
	row(`  the first ${d.first.n} of them, the last`, `${pair(d.first)}; ${pair(d.last)}`)
	good &= row(
		'  of those asked for',
		`${d.live} of ${d.asked}${d.why ? `: ${d.why}` : ''}`,
		'all',
		d.live === d.asked,
	)
	if (d.late) row('  creates that took more than 5 s in one step, and were repeated', `${d.late}`)
	printCost('memory of the machine for each', d.each)
	if (d.reclaimed) printCost('the same when idle memory is reclaimed', d.reclaimed)
	row('  front memory before, after', [d.rss.before, d.rss.after].map((m) => mb(m.front)).join(', '))
	row('  warden memory before, after', [d.rss.before, d.rss.after].map((m) => mb(m.warden)).join(', '))
	row('  processors used while nobody asks', share.join(', ') || 'none')
	good &= row(
		`  a command in ${d.touched.n} of them, chosen at random`,
		pair(d.touched),
		'p99 ≤ 300 ms',
		d.touched.p99 <= 300,
	)
	good &= row('    that did not answer as they should', `${d.touched.bad}`, '0', d.touched.bad === 0)
	row('  list of all', pair(d.list))
	good &= row('  page of 100', pair(d.page), 'p50 ≤ 10 ms', d.page.p50 <= 10)
	row('  /metrics', pair(d.metrics))
	row('  one by its id', pair(d.info))
	if (d.beyond) good &= row('  one more', `${d.beyond.status}`, '429', d.beyond.status === 429)
	row(`  ${d.expiry.n} that end at one moment: the last is gone after`, ms(d.expiry.lateMs))
	good &= row(
		`  kill of ${d.killed.n}: answered, nothing left`,
		`${(d.killed.answered / 1000).toFixed(1)}, ${(d.killed.gone / 1000).toFixed(1)} s`,
		'nothing left',
		true,
	)
	return good
}

function printRate(name, r, least) {
	const good = row(
		`${name} (${r.client}, ${r.connections} connections)`,
		`${count(r.perSecond)} /s`,
		least ? `≥ ${count(least)} /s` : '',
		least ? r.perSecond >= least : null,
	)
	row('  per second of CPU time of the front', `${count(r.perCpuSecond)} /s`)
	return good
}

function printMany(m) {
	let good = true
	good &= printRate('GET /health', m.health, 20000)
	good &= printRate(`GET /sandboxes, ${m.listRate.live} live`, m.listRate)
	for (const s of m.steps) {
		if (s.why) row(`  ${s.live} of ${s.asked} sandboxes only`, s.why)
		good &= row(`list of ${s.live} sandboxes`, pair(s.list), '≤ 10 ms', s.list.p50 <= 10)
		if (s.live !== 1000) row('  the same per 1,000', ms((s.list.p50 * 1000) / s.live))
		const limit = s.live <= 500 ? '≤ 60 MB' : '' /* promised for 500 */
		good &= row(
			`front memory with ${s.live} sandboxes`,
			mb(s.rss.front),
			limit,
			limit ? s.rss.front <= 60 * 1048576 : null,
		)
		row('  before they started, after the lists', [s.before, s.listRss].map((r) => mb(r.front)).join(', '))
		row('  warden, egress', [s.rss.warden, s.rss.egress].map(mb).join(', '))
		row(
			'  per sandbox: PSS of atoll-init, its cgroup',
			[s.sandbox.initPss, s.sandbox.cgroup].map((x) => mb(x.p50)).join(', '),
		)
	}
	return good
}

function printInterpreter(r) {
	let good = true
	if (r.pool) good &= row('create → first Python result, pool hit', pair(r.pool), '≤ 10 ms', r.pool.p50 <= 10)
	if (r.pool) row('  of it create; hits, misses', `${pair(r.pool.create)}; ${r.pool.hits}, ${r.pool.misses}`)
	for (const [which, b] of Object.entries(r.bursts ?? {}))
		row(`  ${b.clients} clients at once, default pool, ${which} burst; hits`, `${pair(b)}; ${b.hits}`)
	const i = r.interpreter
	good &= row('create → first Python result, no pool, one client', pair(i.first), '≤ 25 ms', i.first.p50 <= 25)
	row('  of it create', pair(i.first.create))
	row(`  before that, from the start: ${i.start.n} in ${ms(i.start.ms)}`, `slowest ${ms(i.start.slowest)}`)
	row('  10 clients, one after the other each', pair(i.wide))
	good &= row(
		`  ${i.burst.clients} clients at once: errors`,
		`${i.burst.errors}${i.burst.why ? ` (${i.burst.why})` : ''}`,
		'0',
		i.burst.errors === 0,
	)
	good &= row(`  ${i.burst.clients} clients at once`, pair(i.burst), 'p99 ≤ 1.5 s', i.burst.p99 <= 1500)
	good &= row('execute 1+1', pair(i.execute), '≤ 3 ms', i.execute.p50 <= 3)
	const js = i.firstJavaScript
	good &= row(
		'first JavaScript cell against node -e 0',
		`${js.ratio.toFixed(2)} (${ms(js.cell.p50)} of ${ms(js.node.p50)})`,
		'≤ 1.5',
		js.ratio <= 1.5,
	)
	good &= row('  later ones', pair(i.javascript), '≤ 5 ms', i.javascript.p50 <= 5)
	good &= row(
		`creations + kills, ${i.rate.width} at a time`,
		`${i.rate.perSecond.toFixed(0)} /s`,
		'≥ 60 /s',
		i.rate.perSecond >= 60,
	)
	for (const s of i.idle) good &= printIdle(s)
	return good
}

function printBeside(b) {
	const groups = { 'first Python result': b.first, 'cell 1+1': b.cell, 'command true': b.command }
	for (const [size, rows] of Object.entries(b.upload ?? {})) groups[`upload of ${size}`] = rows
	for (const [what, rows] of Object.entries(groups)) {
		row(what, '')
		for (const [name, p] of Object.entries(rows))
			row(
				`  ${name}`.slice(0, 60),
				p.skipped ? `skipped: ${p.skipped}` : `${pair(p)}  × ${p.ratio.toFixed(2)}`,
			)
	}
	return true
}

function printGrowth(g) {
	for (const s of g.alive.steps)
		row(`create with ${s.alive} alive; memory of each`, `${pair(s.create)}; ${mb(s.memory)}`)
	if (g.alive.why) row('  not more', g.alive.why)
	for (const s of g.processors.steps)
		row(
			`${s.processors} processors: creates + kills, cells`,
			`${count(s.creates)} /s, ${count(s.cells)} /s`,
		)
	for (const s of g.sizes.steps)
		row(
			`${count(s.size / 1000)} kB up, down`,
			[s.up, s.down].map((w) => `${w.p50.toFixed(2)} ms`).join(', '),
		)
	return true
}

function printIdle(s) {
	let good = row(
		`idle sandboxes with Python and pandas${s.why ? ` (${s.why})` : ''}`,
		`${s.live}`,
		`${s.asked}`,
		s.live === s.asked,
	)
	good &= row(
		'  PSS of one, all its processes',
		`p50 ${mb(s.memory.pss.p50)}  max ${mb(s.memory.pss.max)}`,
		'≤ 12 MB',
		s.memory.pss.p50 <= 12 * 1048576,
	)
	row('  its cgroup', `p50 ${mb(s.memory.cgroup.p50)}  max ${mb(s.memory.cgroup.max)}`)
	good &= row('  API answers', pair(s.api), 'p99 ≤ 20 ms', s.api.p99 <= 20)
	row('  execute 1+1', pair(s.execute))
	return good
}

function printPause(p) {
	let good = true
	const must = 250 * Math.max(1, p.disk.bytes / (160 << 20))
	good &= row('pause in memory, 1 MB to write', pair(p.ram.pause), '≤ 50 ms', p.ram.pause.p50 <= 50)
	good &= row('resume from memory', pair(p.ram.resume), '≤ 20 ms', p.ram.resume.p50 <= 20)
	good &= row('  its memory written to disk: size, standstill', `${mb(p.disk.bytes)}, ${ms(p.disk.dumpMs)}`)
	// 250 ms for each 160 MB
	good &= row('resume from disk', pair(p.disk.resume), `≤ ${must.toFixed(0)} ms`, p.disk.resume.p50 <= must)
	row('pause of the disk alone', pair(p.boot.pause))
	row('  boot from it', pair(p.boot.resume))
	good &= row('fork → first execute', pair(p.fork), '≤ 900 ms', p.fork.p50 <= 900)
	good &= row(
		`${p.ten.count} forks at once → first execute of all (${p.ten.made} made)`,
		ms(p.ten.ms),
		'≤ 4000 ms',
		p.ten.ms <= 4000 && p.ten.made === p.ten.count,
	)
	return good
}

function printKills(k) {
	const good = row(
		`kill of ${k.n}, 32 at a time: until nothing is left`,
		ms(k.gone),
		'≤ 2000 ms',
		k.gone <= 2000 * Math.max(1, k.n / 500),
	)
	row('  all answered', ms(k.answered))
	row('  create before, after', `${ms(k.before)}, ${ms(k.after)}`)
	row('  longest create among them', ms(k.among))
	return good
}

// What was measured in turns with another build.
// The must is of the usual interpreter.
function printDisk({ rows }) {
	let good = true
	for (const { what, ours, theirs, ratio } of rows) {
		const must = /^interpreter.*(restart|later|memory)$/.test(what)
		const other = theirs ? `, the other ${ms(theirs.p50)}  × ${ratio.toFixed(2)}` : ''
		good &= row(
			`${/CPU/.test(what) ? '  ' : ''}${what}`,
			`${pair(ours)}${other}`,
			must ? '≤ 55 ms' : '',
			must ? ours.p50 <= 55 : null,
		)
	}
	return good
}

function printAgainst(a, of = '') {
	for (const [what, { ours, theirs, ratio }] of Object.entries(a).filter(([, v]) => v.ratio))
		row(
			`${what}${of}: this build, the other`,
			`p50 ${ms(ours.p50)}, ${ms(theirs.p50)}  × ${ratio.toFixed(2)}`,
		)
	return true
}

function printTemplates(t) {
	let good = true
	const step = t.built.p50 / t.hand.p50,
		create = t.custom.p50 / t.base.p50
	row('template of six steps, nothing cached', ms(t.first))
	good &= row('  built again, all steps cached', pair(t.again), '≤ 2000 ms', t.again.p50 <= 2000)
	row('pip install of a wheel of 600 files, as a step', pair(t.built))
	good &= row(
		'  against the same by hand in a sandbox',
		`${step.toFixed(2)} × ${ms(t.hand.p50)}`,
		'≤ 1.3',
		step <= 1.3,
	)
	row('sandbox of a custom Python template', pair(t.custom))
	good &= row(
		'  against one of the default template',
		`${create.toFixed(2)} × ${ms(t.base.p50)}`,
		'≤ 1.5',
		create <= 1.5,
	)
	return good
}

function printMcp(m) {
	const MB = 1024 * 1024,
		kept = m.many.waves.at(-1) - m.many.waves[0]
	let good = 1
	row('execute 1+1 directly', pair(m.plain))
	row('  by the MCP tool run_code, same sandbox, in turns', pair(m.tool))
	good &= row(
		'  what MCP adds',
		`${(m.tool.p50 - m.plain.p50).toFixed(2)} ms`,
		'p50 ≤ 1 ms',
		m.tool.p50 - m.plain.p50 <= 1,
	)
	good &= row('list of the tools', pair(m.list), 'p50 ≤ 5 ms', m.list.p50 <= 5)
	good &= row(
		`${m.many.agents} agents × ${m.many.each} executions, four times: errors`,
		`${m.many.errors}${m.many.why ? ` (${m.many.why})` : ''}`,
		'0',
		m.many.errors === 0,
	)
	row('  each execution', pair(m.many))
	good &= row(
		'  memory of atoll-agent after each time',
		m.many.waves.map((b) => (b / MB).toFixed(1)).join(', ') + ' MB',
		'flat (± 4 MB)',
		Math.abs(kept) <= 4 * MB,
	)
	good &= row(
		`${m.mixed.count} mixed executions: failures that were not meant`,
		`${m.mixed.failures}${m.mixed.why ? ` (${m.mixed.why})` : ''}, ${m.mixed.perSecond.toFixed(0)} /s`,
		'≤ 0.1 %',
		m.mixed.failures <= m.mixed.count / 1000,
	)
	good &= row(
		'  meanwhile: probes of health that were answered well',
		`${m.mixed.good} of ${m.mixed.probes}`,
		'≥ 99.9 %',
		m.mixed.good >= 0.999 * m.mixed.probes,
	)
	return good
}

function printClient(c) {
	const ratio = c.c.p50 / c.js.p50
	row('execute 1+1 with libatoll', pair(c.c))
	row('  with the SDK for JavaScript', pair(c.js))
	let good = row('  against it', ratio.toFixed(2), '≤ 0.7', ratio <= 0.7)
	good &= row(`  the heap has grown over ${c.calls} calls by`, `${c.heap} bytes`, '≤ 4096', c.heap <= 4096)
	good &= row('  and the process by', `${(c.rss / 1024).toFixed(0)} kB`, '≤ 256 kB', c.rss <= 256 * 1024)
	return good
}

function printEgress(e) {
	let good = true
	for (const p of e.parts) {
		good &= row(
			`${p.name} of ${e.size >> 20} MiB through the domain proxy against direct`,
			speed(p),
			'≥ 0.5',
			p.ratio >= 0.5,
		)
		row('  CPU seconds of atoll-egress per GB', p.cpuPerGb.toFixed(2))
	}
	return good
}

function printAudit(a) {
	let good = true
	good &= row(
		'execute 1+1 with the audit trail against none',
		`${a.trail.p50.toFixed(3)} (${a.execute.trail.p50.toFixed(2)} ms; p10 ${a.trail.p10.toFixed(3)})`,
		'≤ 1.05',
		a.trail.p50 <= 1.05,
	)
	row(
		'  with notebooks, too',
		`${a.both.p50.toFixed(3)} (${a.execute.both.p50.toFixed(2)} ms; p10 ${a.both.p10.toFixed(3)})`,
	)
	good &= row(
		'atoll audit verify, with seals',
		`${count(a.verify.perSecond)} records/s`,
		'≥ 200,000/s',
		a.verify.perSecond >= 200_000,
	)
	return good
}

function printCalls(c) {
	if (c.skipped) return row('system calls of the front', `skipped: ${c.skipped}`)
	for (const name of ['execute', 'command']) {
		for (const m of c[name]) {
			const clients = `${m.clients} ${m.clients === 1 ? 'client' : 'clients'}`
			const beside = (values, ratio) => values.join(', ') + (ratio ? `  × ${ratio.toFixed(2)}` : '')
			row(
				`front per ${name}, ${clients}: system calls`,
				beside(
					m.calls.map((v) => v.sum.toFixed(1)),
					m.callsRatio,
				),
			)
			row(
				'  CPU time',
				beside(
					m.cpuUs.map((v) => `${v.p50.toFixed(0)} µs`),
					m.cpuRatio,
				),
			)
			row(
				'  most of them',
				Object.entries(m.calls[0].by)
					.slice(0, 6)
					.map(([call, n]) => `${call} ${n.toFixed(1)}`)
					.join(', '),
			)
		}
	}
	return true
}

function printCores(c) {
	if (c.skipped) return row('threads of the front', `skipped: ${c.skipped}`)
	for (const w of c.widths) {
		row(`front_threads = ${w.threads}: executions per second`, `${count(w.perSecond.p50)}/s`)
		row(
			'  processor time per execution',
			`main thread ${w.mainUs.p50.toFixed(0)} µs, others ${w.othersUs.p50.toFixed(0)} µs`,
		)
		row('  futex calls per execution', w.waits.toFixed(2))
		row('  memory of the front', `${(w.rss / 1024).toFixed(1)} MB`)
	}
	return true
}

function printUploads(u) {
	for (const [name, w] of Object.entries(u.work)) {
		const beside = (all, ratio) =>
			all.map((v) => ms(v.p50)).join(', ') + (ratio ? `  × ${ratio.toFixed(2)}` : '')
		row(`upload of ${name}`, beside(w.ms, w.ratio))
		row(
			`  CPU time of ${/program/.test(name) ? 'it' : 'front and atoll-init'}`,
			beside(w.cpuMs, w.cpuRatio),
		)
	}
	return true
}

function printWalls(w) {
	let good = true
	for (const p of w.parts) {
		good &= row(
			`${p.name}: speed against no filter`,
			`${p.ratio.toFixed(2)} (${ms(p.cpu.walled.p50)} of ${ms(p.cpu.bare.p50)} CPU)`,
			'≥ 0.9',
			p.ratio >= 0.9,
		)
		row(
			`  best time of all, ${p.filters} filters against none`,
			`${p.wallRatio.toFixed(2)} (p50 ${ms(p.wall.walled.p50)}, ${ms(p.wall.bare.p50)})`,
		)
	}
	for (const [name, what] of w.against
		? [
				['create, no pool', 'create'],
				['execute 1+1', 'execute'],
			]
		: []) {
		const { p10, p50 } = w.against[what]
		good &= row(
			`${name}: p10 against the other build`,
			`${p10.toFixed(2)} (${ms(w.against.ours[what].p10)}; p50 ${p50.toFixed(2)})`,
			'≤ 1.1',
			p10 <= 1.1,
		)
	}
	return good
}

function printView(v) {
	let good = true
	const [own, host] = v.memory
	const each = own.each - host.each + own.helper / v.batch
	const adds = (c) => `p10 ${c.adds.toFixed(2)} ms (${c.own.p10.toFixed(2)}, ${c.host.p10.toFixed(2)} ms)`
	good &= row('own view: adds to a create, no pool', adds(v.create), '≤ 0.5 ms', v.create.adds <= 0.5)
	row('  with fewer processors than the host', adds(v.pinned))
	good &= row(`  memory per sandbox, of ${v.batch}`, mb(each), '≤ 0.5 MB', each <= 0.5 * 1048576)
	row('  of it the helper of all', mb(own.helper))
	row('  a read of /proc/meminfo, with and without', v.read.map((us) => `${us.toFixed(0)} µs`).join(', '))
	return good
}

function printConsole(c) {
	if (c.skipped) {
		row('console', c.skipped)
		return true
	}
	let good = true
	const line = (name, of, most) => {
		good &= row(`console: ${name}`, `p50 ${ms(of.p50)}  p99 ${ms(of.p99)}`, `≤ ${most} ms`, of.p50 <= most)
	}
	line('first paint', c.paint, 1000)
	line('interactive', c.interactive, 1500)
	line('scroll a list of 5,000', c.scroll, 100)
	line('key to echo', c.echo, 30)
	line('cell 1+1, click to output', c.cell, 50)
	const more = c.many.most - c.many.before
	good &= row(`console: front's memory with ${c.many.n} open, more`, mb(more), '≤ 20 MB', more <= 20 * 1048576)
	const { idle, open } = c.left
	const of = (share) => `${share.percent.toFixed(2)} % of a core`
	row('console: nobody there, the front takes', of(idle))
	const name = `console: one left open, ${(open.seconds / 60).toFixed(0)} min`
	good &= row(name, of(open), '≤ 1 %', open.percent <= 1)
	return good
}

function printRestart(r) {
	let good = true
	for (const [name, way] of Object.entries(r.ways)) {
		good &= row(
			`${name}, ${r.n} live: API back`,
			`p50 ${ms(way.back.p50)}  max ${ms(way.back.max)}`,
			'≤ 1 s',
			way.back.p50 <= 1000,
		)
		good &= row('  of them answer afterwards', `${way.good} of ${r.n}`, `${r.n}`, way.good === r.n)
	}
	return good
}

// The neighbour of a sandbox that takes all it can of one thing: five times its quiet p99, and the API within 100 ms.
function printBombs(b) {
	let good = true
	const worst = Math.max(b.quiet.execute.p99, b.quietAfter.execute.p99)
	row('quiet: execute 1+1', pair(b.quiet.execute))
	row('  the API', pair(b.quiet.api))
	row('  afterwards: execute 1+1', pair(b.quietAfter.execute))
	for (const [name, got] of Object.entries(b.bombs)) {
		good &= row(
			`bomb of ${name}: the neighbour executes 1+1`,
			pair(got.execute),
			`≤ ${ms(5 * worst)}`,
			got.execute.p99 <= 5 * worst,
		)
		good &= row('  the API', pair(got.api), '≤ 100 ms', got.api.p99 <= 100)
	}
	return good
}

// The neighbour of a sandbox that sends all it can: twice its quiet p99 and 20 ms, and the API within 20 ms.
function printFairness(f) {
	let good = true
	const quiet = Math.max(f.quiet.run.p99, f.quietAfter.run.p99),
		most = 2 * quiet + 20
	row('quiet: commands.run("true")', pair(f.quiet.run))
	row('  /health', pair(f.quiet.health))
	row('  afterwards: commands.run("true")', pair(f.quietAfter.run))
	for (const [name, got] of Object.entries(f.floods)) {
		if (got.alone) row(`${name}, nobody watches: the neighbour runs`, pair(got.alone.run))
		if (got.busy)
			row(
				`${name}, into nothing, and a busy client: the neighbour runs`,
				`${pair(got.busy.run)}, /health ${pair(got.busy.health)}`,
			)
		good &= row(`${name}: the neighbour runs`, pair(got.run), `p99 ≤ ${ms(most)}`, got.run.p99 <= most)
		const against = (p50, p99) =>
			`p50 ${(got.run.p50 / p50).toFixed(2)}  p99 ${(got.run.p99 / p99).toFixed(2)}`
		if (got.alone) row('  against nobody watching', against(got.alone.run.p50, got.alone.run.p99))
		row('  against quiet', against(f.quiet.run.p50, quiet))
		good &= row('  /health', pair(got.health), 'p99 ≤ 20 ms', got.health.p99 <= 20)
		row('  CPU of the front', `${(100 * got.cpu).toFixed(0)} %`)
	}
	return good
}

function printImages(t) {
	if (t.skipped) return row('images', `skipped: ${t.skipped}`)
	const good = row(
		`image of ${t.bytes >> 20} MiB until usable, against skopeo + umoci`,
		`${t.ratio.toFixed(2)} (${t.ours.p50.toFixed(1)} s, they ${t.theirs.p50.toFixed(1)} s)`,
		'≥ 0.5',
		t.ratio >= 0.5,
	)
	row('  and what it makes of a second', `${(t.bytes / 1048576 / t.ours.p50).toFixed(0)} MB`)
	return good
}

// No line of these must be anything: they are what the choice of the plain directory rests on.
function printForms(t) {
	if (t.skipped) return row('forms of a template', `skipped: ${t.skipped}`)
	const names = Object.keys(t.forms),
		all = (fn) => names.map((n) => fn(t.forms[n])).join(' · ')
	row('a template as', names.join(' · '))
	row(
		'  made in',
		all((f) => `${(f.made / 1000).toFixed(1)} s`),
	)
	row(
		'  on disk',
		all((f) => `${(f.bytes / 1048576).toFixed(0)} MB`),
	)
	row(
		'  a sandbox of it (no pool)',
		all((f) => ms(f.create)),
	)
	for (const [name, what] of [
		['find', 'find /usr'],
		['python', 'python3 -c pass'],
		['import', 'python3, imports'],
		['node', 'node -e 0'],
		['read', 'read all of /usr'],
	]) {
		row(
			`  ${what}: nothing in memory`,
			all((f) => ms(f[`first.${name}`])),
		)
		row(
			`  ${what}: at its best`,
			all((f) => ms(f[`again.${name}`])),
		)
	}
	return true
}

export function print(r) {
	console.log(`\n${'what'.padEnd(54)} ${'measured'.padStart(34)}   ${'must'.padEnd(12)}`)
	let good = true
	if (r.first) good &= printCommands(r)
	if (r.transfer) good &= printTransfer(r.transfer)
	if (r.ports) good &= printPorts(r.ports)
	if (r.many) good &= printMany(r.many)
	if (r.density) good &= printDensity(r.density)
	if (r.interpreter) good &= printInterpreter(r)
	if (r.beside) good &= printBeside(r.beside)
	if (r.growth) good &= printGrowth(r.growth)
	if (r.templates) good &= printTemplates(r.templates)
	if (r.mcp) good &= printMcp(r.mcp)
	if (r.client) good &= printClient(r.client)
	if (r.pause) good &= printPause(r.pause)
	if (r.kills) good &= printKills(r.kills)
	if (r.killsAgainst) good &= printAgainst(r.killsAgainst, `, kill of ${r.killsAgainst.n}`)
	if (r.against) good &= printAgainst(r.against)
	if (r.restart) good &= printRestart(r.restart)
	if (r.bombs) good &= printBombs(r.bombs)
	if (r.fairness) good &= printFairness(r.fairness)
	if (r.egress) good &= printEgress(r.egress)
	if (r.forms) good &= printForms(r.forms)
	if (r.images) good &= printImages(r.images)
	if (r.audit) good &= printAudit(r.audit)
	if (r.calls) good &= printCalls(r.calls)
	if (r.disk) good &= printDisk(r.disk)
	if (r.cores) good &= printCores(r.cores)
	if (r.uploads) good &= printUploads(r.uploads)
	if (r.view) good &= printView(r.view)
	if (r.console) good &= printConsole(r.console)
	if (r.walls) good &= printWalls(r.walls)
	return Boolean(good)
}
