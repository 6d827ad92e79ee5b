// SPDX-License-Identifier: Apache-2.0
// What the users of the soak do with sandboxes. An act that does not get what it asked for throws; each counts as one.
import { createHash, randomBytes } from 'node:crypto'
import { api, envd, outputOf, endOf, rpc, start, stream } from '../lib/client.mjs'
import { until } from '../lib/host.mjs'
import { runCode } from '../lib/interp.mjs'

export const PATIENCE_MS = 60000
const LIFE_S = 86400
const OCTET = { 'Content-Type': 'application/octet-stream' }

function expect(good, what, res) {
	if (!good)
		throw new Error(`${what}: ${res.status ?? ''} ${String(res.text ?? JSON.stringify(res)).slice(0, 200)}`)
}

function limit(promise, what) {
	let timer
	const late = new Promise((_, fail) => {
		timer = setTimeout(fail, PATIENCE_MS, new Error(`${what}: no end within ${PATIENCE_MS} ms`))
	})
	return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

// One sandbox and what it must still know.
class Box {
	constructor(sbx, template) {
		this.sbx = sbx
		this.id = sbx.sandboxID
		this.python = template === 'code-interpreter-v1'
		this.count = 0 // what its variable must say
		this.busy = false
	}
}

export class Acts {
	constructor(server, rnd) {
		this.server = server
		this.rnd = rnd
		this.boxes = new Set()
		this.snapshots = new Set()
	}

	call(method, where, body) {
		return api(method, where, body, { base: this.server.url, key: this.server.key, timeout: PATIENCE_MS })
	}

	async sh(box, command) {
		const run = await limit(start(box.sbx, command, { base: this.server.url }), 'command')
		await limit(run.ended, 'command')
		const end = endOf(run.events)
		expect(end && (end.exitCode ?? 0) === 0, `command '${command}'`, {
			text: JSON.stringify(run.trailer ?? end ?? run.status),
		})
		return outputOf(run.events)
	}

	async file(box, method, path, body) {
		const res = await envd(box.sbx, method, `/files?path=${encodeURIComponent(path)}&username=user`, body, {
			base: this.server.url,
			timeout: PATIENCE_MS,
			headers: body ? OCTET : {},
		})
		expect(res.status === 200, `${method} of ${path}`, res)
		return res.body
	}

	// --- sandboxes come and go ---

	async make(templateID, more = {}) {
		const res = await this.call('POST', '/v2/sandboxes', {
			templateID,
			timeout: LIFE_S,
			autoPause: false,
			...more,
		})
		expect(res.status === 201, 'create', res)
		return res.json
	}

	async create(template = this.rnd.below(3) ? 'code-interpreter-v1' : 'base') {
		const box = new Box(await this.make(template), template)
		this.boxes.add(box)
	}

	async kill(box) {
		this.boxes.delete(box)
		const res = await this.call('DELETE', `/sandboxes/${box.id}`)
		expect(res.status === 204, 'kill', res)
	}

	async replace(box) {
		await this.create()
		await this.kill(box)
	}

	// One that nobody ends.
	async expire() {
		const sbx = await this.make('base', { timeout: 2 })
		const status = async () => (await this.call('GET', `/sandboxes/${sbx.sandboxID}`)).status
		const gone = await until(async () => (await status()) === 404, PATIENCE_MS, 500)
		expect(gone, 'expire', { text: `${sbx.sandboxID} is still there` })
	}

	async pause(box) {
		const paused = await this.call('POST', `/sandboxes/${box.id}/pause`, {})
		expect(paused.status === 204, 'pause', paused)
		const back = await this.call('POST', `/sandboxes/${box.id}/connect`, { timeout: LIFE_S })
		expect(back.status === 200 || back.status === 201, 'connect', back)
		if (box.python && box.count) await this.code(box)
		else await this.command(box)
	}

	// Keeps it, makes another of what was kept, and drops both.
	async snapshot(box) {
		const mark = randomBytes(8).toString('hex')
		await this.file(box, 'POST', '/home/user/mark', Buffer.from(mark))
		const kept = await this.call('POST', `/sandboxes/${box.id}/snapshots`, {})
		expect(kept.status === 201, 'snapshot', kept)
		const { snapshotID } = kept.json
		this.snapshots.add(snapshotID)
		const copy = new Box(await this.make(snapshotID), 'base')
		this.boxes.add(copy)
		copy.busy = true
		try {
			const got = await this.file(copy, 'GET', '/home/user/mark')
			expect(got.toString() === mark, 'what was kept', { text: got.toString() })
		} finally {
			await this.kill(copy)
		}
		const gone = await this.call('DELETE', `/templates/${encodeURIComponent(snapshotID)}`)
		expect(gone.status === 204, 'drop of a snapshot', gone)
		this.snapshots.delete(snapshotID)
	}

	// --- use ---

	async code(box) {
		const n = ++box.count
		const res = await limit(
			runCode(box.sbx, `n = globals().get("n", 0) + 1; n`, {}, this.server.url),
			'code',
		)
		expect(
			res.status === 200 && res.text === String(n) && res.last === 'end_of_execution',
			`code, the ${n}th time`,
			{
				status: res.status,
				text: `${res.text} ${JSON.stringify(res.error ?? res.body.slice(0, 200))}`,
			},
		)
	}

	async plot(box) {
		const code = 'import pandas as pd\nprint(pd.DataFrame({"a": range(1000)}).a.sum())'
		const res = await limit(runCode(box.sbx, code, {}, this.server.url), 'code')
		expect(res.stdout.join('').trim() === '499500', 'code with a library', {
			status: res.status,
			text: JSON.stringify(res.error ?? res.body.slice(0, 200)),
		})
	}

	async command(box) {
		const word = randomBytes(4).toString('hex')
		const out = await this.sh(box, `echo ${word}; seq 2000 | tail -1`)
		expect(out === `${word}\n2000\n`, 'command', { text: out })
	}

	async files(box, size = 1 + this.rnd.below(1 << 18)) {
		const data = randomBytes(size),
			path = `/home/user/f${this.rnd.below(8)}`
		await this.file(box, 'POST', path, data)
		const back = await this.file(box, 'GET', path)
		const sum = (bytes) => createHash('sha256').update(bytes).digest('hex')
		expect(sum(back) === sum(data), 'file', {
			text: `${data.length} bytes went in, ${back.length} came out`,
		})
		const list = await rpc(
			box.sbx,
			'filesystem.Filesystem/ListDir',
			{ path: '/home/user', depth: 1 },
			{ base: this.server.url, timeout: PATIENCE_MS },
		)
		expect(
			list.status === 200 && list.json.entries.some((e) => e.path === path),
			'list of a directory',
			list,
		)
	}

	async watch(box) {
		const dir = '/tmp/watched',
			name = randomBytes(6).toString('hex')
		await this.sh(box, `mkdir -p ${dir}`)
		const opening = stream(
			box.sbx,
			'filesystem.Filesystem/WatchDir',
			{ path: dir },
			{ base: this.server.url },
		)
		const w = await limit(opening, 'watch')
		try {
			await until(() => w.events.some((e) => e.start) || w.trailer, PATIENCE_MS, 10)
			await this.sh(box, `cd ${dir} && echo x > ${name} && rm ${name}`)
			const saw = (type) =>
				w.events.some(
					(e) =>
						e.filesystem?.name === name &&
						e.filesystem.type === `EVENT_TYPE_${type}`,
				)
			const all = await until(
				() => ['CREATE', 'WRITE', 'REMOVE'].every(saw) || w.trailer,
				PATIENCE_MS,
				10,
			)
			expect(all && !w.trailer, 'watch', { text: JSON.stringify(w.trailer ?? w.events.slice(-5)) })
		} finally {
			w.close()
		}
	}

	async look(box) {
		const one = await this.call('GET', `/sandboxes/${box.id}`)
		expect(one.status === 200 && one.json.state === 'running', 'state', one)
		const list = await this.call('GET', '/v2/sandboxes?limit=100')
		expect(list.status === 200 && list.json.length > 0, 'list', list)
		const metrics = await this.call('GET', `/sandboxes/${box.id}/metrics`)
		expect(metrics.status === 200, 'metrics', metrics)
		const health = await this.call('GET', '/health')
		expect(health.status < 300, 'health', health)
	}

	async end() {
		const failed = []
		const all = [...this.boxes]
			.map((box) => `/sandboxes/${box.id}`)
			.concat([...this.snapshots].map((id) => `/templates/${encodeURIComponent(id)}`))
		for (const where of all) {
			const res = await this.call('DELETE', where)
			if (res.status !== 204) failed.push(`${where}: ${res.status} ${res.text}`)
		}
		this.boxes.clear()
		this.snapshots.clear()
		return failed
	}
}
