// SPDX-License-Identifier: Apache-2.0
// docs/benchmarks.md and its pictures, made from the results of one run: node bench/report.mjs [RESULTS.json].
// Without a file it makes them again from the results that are stored beside the page.
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { lineChart } from './chart.mjs'

const TOP = path.dirname(path.dirname(fileURLToPath(import.meta.url)))
const PAGE = 'docs/benchmarks.md'
const FOLDER = 'docs/benchmarks'
export const STORED = `${FOLDER}/results.json`
export const PAGE_PARTS = ['commands', 'interpreter', 'beside', 'growth', 'pause', 'kills', 'uploads', 'calls']

const digits = (x) => (x < 10 ? x.toFixed(2) : x < 100 ? x.toFixed(1) : Math.round(x).toLocaleString('en'))
const ms = (x) => `${digits(x)} ms`
const mb = (x) => `${(x / 1048576).toFixed(1)} MB`
const times = (x) => `${x < 10 ? x.toFixed(2) : Math.round(x).toLocaleString('en')} ×`
const round = (x) => Math.round(x).toLocaleString('en')

// A reason may quote what a peer has answered.
const cell = (text) => String(text).replace(/</g, '&lt;').replace(/\|/g, '\\|').replace(/\s+/g, ' ').trim()

function table(head, rows) {
	const line = (cells) => `| ${cells.map(cell).join(' | ')} |`
	return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n')
}

// Text wraps at 100 columns, as in all documents.
function wrap(text, first = '', rest = '') {
	const lines = []
	let line = first
	for (const word of text.replace(/\s+/g, ' ').match(/(?:`[^`]*`|\S)+/g)) {
		if (line.length + word.length > 99 && line.trim()) {
			lines.push(line.trimEnd())
			line = rest
		}
		line += `${word} `
	}
	return [...lines, line.trimEnd()].join('\n')
}

const item = (text) => wrap(text, '- ', '  ')

// --- figures -------------------------------------------------------------------------------------------------------

const pair = (s) => [ms(s.p50), ms(s.p99)]

function ofCommands(r) {
	const only = '`bench/run --only commands`'
	return [
		[
			'Create to first `commands.run`, SDK for JavaScript, no pool',
			...pair(r.first.total),
			r.first.total.n,
			only,
		],
		['`commands.run("true")`, SDK for JavaScript', ...pair(r.command.trip), r.command.trip.n, only],
		['`bash -l -c true` alone, inside the sandbox', ...pair(r.command.floor), r.command.floor.n, only],
		['Kill until processes, cgroups and mounts are gone', ...pair(r.kill.gone), r.kill.gone.n, only],
	]
}

function ofInterpreter(r) {
	const only = '`bench/run --only interpreter`'
	const i = r.interpreter
	return [
		['Create to first Python result, from the warm pool', ...pair(r.pool), r.pool.n, only],
		['Create to first Python result, no pool', ...pair(i.first), i.first.n, only],
		['The same, 10 clients', ...pair(i.wide), i.wide.n, only],
		[`The same, ${i.burst.clients} clients at the same moment`, ...pair(i.burst), i.burst.n, only],
		...Object.entries(r.bursts ?? {}).map(([which, b]) => [
			`The same with the default pool, ${which} burst (${b.hits} from the pool)`,
			...pair(b),
			b.n,
			only,
		]),
		['Execute `1+1`', ...pair(i.execute), i.execute.n, only],
		['Execute `1+1` in JavaScript', ...pair(i.javascript), i.javascript.n, only],
	]
}

function ofPause(p) {
	const only = '`bench/run --only pause`'
	return [
		['Pause in memory', ...pair(p.ram.pause), p.ram.pause.n, only],
		['Resume from memory', ...pair(p.ram.resume), p.ram.resume.n, only],
		[`Resume from disk (${mb(p.disk.bytes)} of memory)`, ...pair(p.disk.resume), p.disk.resume.n, only],
		['Fork to first execute', ...pair(p.fork), p.fork.n, only],
	]
}

function ofUploads(u) {
	return Object.entries(u.work).map(([name, w]) => [
		/program/.test(name) ? name : `Upload of ${name}`,
		...pair(w.ms[0]),
		w.ms[0].n,
		'`bench/run --only uploads`',
	])
}

// Parts that a run has not measured have no rows.
const times50 = (r) =>
	table(
		['what', 'p50', 'p99', 'samples', 'command'],
		[
			...(r.first ? ofCommands(r) : []),
			...(r.interpreter ? ofInterpreter(r) : []),
			...(r.pause ? ofPause(r.pause) : []),
			...(r.uploads ? ofUploads(r.uploads) : []),
		],
	)

const crowdAmounts = ({ crowd }) => [
	[`${crowd.asked} creates at once, all answered`, ms(crowd.createMs), 'commands'],
	[`Memory of the front with ${crowd.created} sandboxes`, mb(crowd.rss.front), 'commands'],
]

function interpreterAmounts(i) {
	const idle = i.idle.at(-1),
		pss = `Memory of an idle sandbox with pandas loaded (PSS, ${idle.live} alive)`
	return [
		[`Creates and kills, ${i.rate.width} clients`, `${round(i.rate.perSecond)} /s`, 'interpreter'],
		[pss, mb(idle.memory.pss.p50), 'interpreter'],
	]
}

const killAmounts = (k) => [
	[`Kill of ${k.n}, 32 at a time, until nothing is left`, ms(k.gone), 'kills'],
	['A create before and after that', `${ms(k.before)}, ${ms(k.after)}`, 'kills'],
]

const callAmounts = ({ execute }) =>
	execute.flatMap((m) => {
		const what = `Front per execute, ${m.clients} ${m.clients === 1 ? 'client' : 'clients'}`
		return [
			[`${what}: processor time`, `${round(m.cpuUs[0].p50)} µs`, 'calls'],
			[`${what}: system calls`, m.calls[0].sum.toFixed(1), 'calls'],
		]
	})

function amounts(r) {
	const rows = [
		...(r.interpreter ? interpreterAmounts(r.interpreter) : []),
		...(r.crowd ? crowdAmounts(r) : []),
		...(r.kills ? killAmounts(r.kills) : []),
		...(r.calls && !r.calls.skipped ? callAmounts(r.calls) : []),
	]
	return table(
		['what', 'measured', 'command'],
		rows.map(([what, value, part]) => [what, value, `\`bench/run --only ${part}\``]),
	)
}

// --- beside others -------------------------------------------------------------------------------------------------

function turns(title, rows) {
	const [first] = Object.keys(rows)
	const lines = Object.entries(rows).map(([name, p]) =>
		p.skipped
			? [name, 'not measured', '', '', p.skipped]
			: [name, ms(p.p50), ms(p.p99), p.n, name === first ? '' : times(p.ratio)],
	)
	return [`### ${title}`, table(['', 'p50', 'p99', 'samples', 'time, as a multiple of the first row'], lines)]
}

const sizeOf = (name) => (/files/.test(name) ? name : `one file of ${name}`)

const others = (b) =>
	[
		...turns('First Python result', b.first),
		...turns('A cell `1+1` in a running interpreter', b.cell),
		...turns('`bash -l -c true` in a running environment', b.command),
		...Object.entries(b.upload).flatMap(([name, rows]) => turns(`Upload of ${sizeOf(name)}`, rows)),
	].join('\n\n')

// --- pictures ------------------------------------------------------------------------------------------------------

function bytes(n) {
	const [unit, name] = [
		[1e9, 'GB'],
		[1e6, 'MB'],
		[1e3, 'kB'],
	].find(([u]) => n >= u) ?? [1, 'B']
	return `${n / unit} ${name}`
}
const plain = (n) => n.toLocaleString('en')
const speed = (size, msNeeded) => size / msNeeded / 1000

function pictures({ alive, processors, sizes }) {
	const of = (steps, x, y) => steps.map((s) => [x(s), y(s)])
	const n = (s) => s.alive
	const x = { name: 'sandboxes alive, each with a Python context', log: true, text: plain }
	const cores = { name: 'processors of the server', log: false, text: plain }
	const rate = (what, y) => ({ name: what, points: of(processors.steps, (s) => s.processors, y) })
	const transfer = (name, y) => ({ name, points: of(sizes.steps, (s) => s.size, y) })
	return {
		'latency.svg': lineChart({
			title: 'Time of one call, with more sandboxes alive (ms)',
			x,
			y: { log: true, text: plain },
			lines: [
				{ name: 'create, p50', points: of(alive.steps, n, (s) => s.create.p50) },
				{ name: 'create, slowest of 20', points: of(alive.steps, n, (s) => s.create.max) },
				{ name: 'execute 1+1, p50', points: of(alive.steps, n, (s) => s.cell.p50) },
			],
		}),
		'memory.svg': lineChart({
			title: 'Memory of the machine per sandbox (MB)',
			x,
			y: { log: false, text: plain },
			lines: [
				{ name: 'MemAvailable', points: of(steady(alive.steps), n, (s) => s.memory / 2 ** 20) },
			],
		}),
		'processors-cells.svg': lineChart({
			title: 'Executions of 1+1 per second, by processors',
			x: cores,
			y: { log: false, text: plain },
			lines: [rate('16 connections, 8 sandboxes', (s) => s.cells)],
		}),
		'processors-creates.svg': lineChart({
			title: 'Creates and kills per second, by processors',
			x: cores,
			y: { log: false, text: plain },
			lines: [rate('8 clients, no pool', (s) => s.creates)],
		}),
		'files.svg': lineChart({
			title: 'Throughput of one file, by its size (MB/s)',
			x: { name: 'size of the file', log: true, text: bytes },
			y: { log: true, text: plain },
			lines: [
				transfer('upload', (s) => speed(s.size, s.up.p50)),
				transfer('download', (s) => speed(s.size, s.down.p50)),
			],
		}),
	}
}

// With few sandboxes alive, the rest of the machine moves by more than they take.
const steady = (steps) => (steps.some((s) => s.alive >= 50) ? steps.filter((s) => s.alive >= 50) : steps)

const aliveTable = ({ steps }) =>
	table(
		['alive', 'create p50', 'slowest of 20', 'execute `1+1` p50', 'memory of each', 'list of 100'],
		steps.map((s) => [
			plain(s.alive),
			ms(s.create.p50),
			ms(s.create.max),
			ms(s.cell.p50),
			s.alive >= 50 ? mb(s.memory) : '',
			ms(s.listMs),
		]),
	)

const processorsTable = ({ steps }) =>
	table(
		['processors', 'executions per second', 'creates and kills per second'],
		steps.map((s) => [s.processors, round(s.cells), digits(s.creates)]),
	)

const sizesTable = ({ steps }) =>
	table(
		['size', 'upload p50', 'download p50', 'upload', 'download', 'samples'],
		steps.map((s) => [
			bytes(s.size),
			ms(s.up.p50),
			ms(s.down.p50),
			`${digits(speed(s.size, s.up.p50))} MB/s`,
			`${digits(speed(s.size, s.down.p50))} MB/s`,
			s.rounds,
		]),
	)

// --- the page ------------------------------------------------------------------------------------------------------

function machineText(r) {
	const m = r.machine
	const commit = m.commit
		? `commit \`${m.commit.slice(0, 12)}\`${m.changed ? ' with changes' : ''}`
		: 'unknown commit'
	const gib = (m.memory / 2 ** 30).toFixed(0)
	return `${m.cpus} processors (${m.cpu}), ${gib} GiB, Linux ${m.kernel}, ${commit},
		${r.when.slice(0, 10)}. Load average when the run began: ${m.load[0].toFixed(1)}. The
		measured parts took ${round(Object.values(r.seconds).reduce((sum, s) => sum + s, 0) / 60)}
		minutes.`
}

const METHOD = [
	`Every figure comes from one run of one command: \`make bench BENCH_FLAGS='--quick --page'\`. It
	starts servers of its own with a fresh state, sends real requests over HTTP on loopback, and
	leaves nothing behind. The client runs on the same processors as the server.`,
	`p50 and p99 are the median and the 99th percentile of the samples. With fewer than 100 samples
	the p99 is the slowest one.`,
	`Servers have their defaults, but for limits that a part needs. "No pool" means \`warm_pool_size =
	0\`. The first sandboxes after a start of the server are not counted: until the template's warm
	interpreter is ready, each starts one of its own.`,
	`What is compared is measured in turns: each round runs every peer once, in alternating order. A
	ratio is the median of the ratios within the rounds, so a machine that is busy for a second does
	not favour one of them.`,
	`bubblewrap, podman and gVisor start from the files of the template \`code-interpreter-v1\`,
	mounted read-only, and their time ends with the output of \`python3\` that has loaded IPython,
	numpy, pandas and matplotlib, as a sandbox of atoll has. ipykernel runs on the same files with
	\`jupyter_client\`, without a sandbox around it.`,
	`"Go io.Copy" is \`bench/io_copy.go\`: a server that copies a body into a file as E2B's envd does.
	It writes to the same btrfs storage, but has neither a proxy nor an overlay file system.`,
]

const OMITTED = [
	`The network between a client and the server. All clients are on loopback, without TLS.
	\`bench/run --only ports\` has figures with TLS.`,
	`E2B's own servers. Start its envd and its interpreter server on the machine and name them with
	\`--peer-envd\` and \`--peer-interpreter\`; they become rows of the tables.`,
	`Machines with virtual machines as isolation: nothing here boots a kernel.`,
	`More processors or memory than this machine has. The curves end there.`,
	`Neighbours that misbehave: \`bench/run --only bombs\` and \`bench/run --only fairness\`, figures
	in [readiness.md](readiness.md).`,
]

const bootText = ({ start }) =>
	`After its start the server took ${digits(start.ms / 1000)} s until the warm interpreter was
	ready; the slowest sandbox before that had its first result after ${ms(start.slowest)}.`

const picture = (name, text) => `![${text}](benchmarks/${name})`

function sections(r) {
	const g = r.growth
	return [
		'# Benchmarks',
		wrap(`Figures of one machine, made by \`make bench\` and stored in
			[results.json](benchmarks/results.json). This page is generated from that file.
			Every figure names the command that measures it.`),
		wrap(machineText(r)),
		...(r.note ? [wrap(`**${r.note}**`)] : []),
		'## Method',
		METHOD.map(item).join('\n'),
		'## Times',
		times50(r),
		...(r.interpreter ? [wrap(bootText(r.interpreter))] : []),
		'## Amounts',
		amounts(r),
		'## Beside others',
		wrap(`Measured by \`bench/run --only beside\`, in turns. A multiple above 1 means that
			atoll is faster.`),
		others(r.beside),
		'## Growth',
		wrap('Measured by `bench/run --only growth`. Creates use no pool.'),
		'### Sandboxes alive',
		picture('latency.svg', 'Time of a create and of an execution, by sandboxes alive'),
		picture('memory.svg', 'Memory per sandbox, by sandboxes alive'),
		aliveTable(g.alive),
		wrap(
			(g.alive.why ? `The run ended early with ${g.alive.why}. ` : '') +
				`Every sandbox has run a cell and keeps its Python context. The memory is
				what the machine has less available per sandbox: processes, kernel objects
				and page cache that cannot be reclaimed.`,
		),
		'### Processors',
		picture('processors-cells.svg', 'Executions per second, by processors of the server'),
		picture('processors-creates.svg', 'Creates and kills per second, by processors of the server'),
		processorsTable(g.processors),
		wrap(`The server and its sandboxes are bound to the first processors with \`taskset\`; the
			client may use all of them, and takes part of them.`),
		'### Size of a file',
		picture('files.svg', 'Throughput of uploads and downloads, by size'),
		sizesTable(g.sizes),
		wrap(`One client, one kept connection, new files.
			[data-path.md](internals/data-path.md#uploads) says what limits them.`),
		'## Not measured here',
		OMITTED.map(item).join('\n'),
		'## How to repeat it',
		'<!-- not run: takes a quarter of an hour of a quiet machine -->',
		"    make bench BENCH_FLAGS='--quick --page'",
		wrap(`This writes the page, its data and its pictures anew. \`make bench\` alone also runs
			the other parts, with more rounds, which takes much longer; \`bench/run
			--only PART\` runs one part and changes no file of the documents. \`bench/run
			--help\` lists parts and options, such as \`--sandboxes 10000\`, \`--peer-envd
			URL\` and \`--runsc PROGRAM\`. The packages bubblewrap, podman, runc and wrk are
			installed by \`make bench\`; Go and runsc are used if they are there. After a
			change of the wording, \`node bench/report.mjs\` makes the page from the stored
			results.`),
	]
}

// All files of the page: { path below the tree: text }.
export function render(result) {
	const files = { [PAGE]: `${sections(result).join('\n\n')}\n` }
	for (const [name, text] of Object.entries(pictures(result.growth))) files[`${FOLDER}/${name}`] = text
	return files
}

// What the page needs of a result, with seven digits: the rest is noise.
function stored(result) {
	const short = (_, v) => (typeof v === 'number' && !Number.isInteger(v) ? Number(v.toPrecision(7)) : v)
	return JSON.parse(JSON.stringify(result, short))
}

export function publish(result) {
	const kept = stored(result)
	const files = { [STORED]: `${JSON.stringify(kept, null, '\t')}\n`, ...render(kept) }
	fs.mkdirSync(path.join(TOP, FOLDER), { recursive: true })
	for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(TOP, name), text)
	const { uid, gid } = fs.statSync(TOP) /* a clone keeps its owner, also under sudo */
	for (const name of [FOLDER, ...Object.keys(files)]) fs.chownSync(path.join(TOP, name), uid, gid)
	return Object.keys(files)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const file = process.argv[2] ?? path.join(TOP, STORED)
	console.log(`written ${publish(JSON.parse(fs.readFileSync(file, 'utf8'))).join(', ')}`)
}
