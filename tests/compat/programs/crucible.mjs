// SPDX-License-Identifier: Apache-2.0
// A command line agent that has moved its tools into sandboxes: service, session manager, tools for code, files,
// terminal and processes, resource monitor, recovery. node crucible.mjs DIRECTORY
//
// Like the plans it follows, it reads what a cell prints from `text`; so it asks for ATOLL_TEXT_FROM_STDOUT when it
// makes a sandbox.
import { createRequire } from 'node:module'
import path from 'node:path'
import assert from 'node:assert/strict'

const { Sandbox, SandboxError, TimeoutError } = createRequire(path.join(path.resolve(process.argv[2]), 'package.json'))(
	'@e2b/code-interpreter',
)

const CONFIG = { sessionTimeout: 3600000, maxConcurrentSessions: 10, executionTimeout: 30000 }
const REFUSED = [
	/rm\s+-rf\s+\//,
	/mkfs/,
	/dd\s+if=/,
	/shutdown/,
	/reboot/,
	/\bsudo\s+/,
	/\bsu\s+/,
	/chmod\s+777/,
	/curl.*\|\s*bash/,
	/wget.*\|\s*sh/,
]

class ExecutionError extends Error {
	constructor(sessionId, code, original, kind) {
		super(`E2B execution failed: ${original.message}`)
		Object.assign(this, { sessionId, code, original, kind })
	}
}

class SessionManager {
	sessions = new Map()
	hooks = { created: [], destroyed: [] }

	constructor(now = Date.now) {
		this.now = now
	}

	on(event, fn) {
		this.hooks[event].push(fn)
	}

	add(agentId, sandbox) {
		if (this.sessions.size >= CONFIG.maxConcurrentSessions) throw new Error('limit of sessions reached')
		const sessionId = `session-${agentId}-${this.sessions.size}`
		this.sessions.set(sessionId, {
			sessionId,
			sandbox,
			agentId,
			createdAt: this.now(),
			lastUsed: this.now(),
			environment: 'base',
		})
		this.hooks.created.forEach((fn) => fn(sessionId))
		return sessionId
	}

	use(sessionId) {
		const session = this.sessions.get(sessionId) ?? null
		if (session) session.lastUsed = this.now()
		return session
	}

	async destroy(sessionId) {
		const session = this.sessions.get(sessionId)
		this.sessions.delete(sessionId)
		await session?.sandbox.kill()
		this.hooks.destroyed.forEach((fn) => fn(sessionId))
	}

	async cleanupExpired() {
		for (const one of [...this.sessions.values()]) {
			if (this.now() - one.lastUsed > CONFIG.sessionTimeout) await this.destroy(one.sessionId)
		}
	}
}

class Service {
	constructor(manager) {
		this.manager = manager
	}

	make() {
		return Sandbox.create({
			timeoutMs: CONFIG.sessionTimeout,
			metadata: { program: 'crucible' },
			envs: { ATOLL_TEXT_FROM_STDOUT: '1' },
		})
	}

	async createSession(agentId) {
		const sandbox = await this.make()
		const probe = await sandbox.runCode('import sys; print("ready " + sys.version.split()[0])')
		if (!probe.text?.startsWith('ready 3')) throw new Error(`the sandbox is not ready: ${probe.text}`)
		return this.manager.add(agentId, sandbox)
	}

	async executeCode(sessionId, code, language = 'python', timeoutMs = CONFIG.executionTimeout) {
		const session = this.manager.use(sessionId)
		if (!session)
			throw new ExecutionError(sessionId, code, new Error('no such session'), 'SANDBOX_UNAVAILABLE')
		try {
			const run = await session.sandbox.runCode(code, { language, timeoutMs })
			return { output: run.text ?? '', error: run.error ?? null, results: run.results }
		} catch (err) {
			// Both are timeouts to the SDK: of the code, or of a sandbox that is not there any more.
			const gone = err instanceof SandboxError && !(await session.sandbox.isRunning())
			throw new ExecutionError(
				sessionId,
				code,
				err,
				gone ? 'SANDBOX_UNAVAILABLE' : err instanceof TimeoutError ? 'TIMEOUT' : 'OTHER',
			)
		}
	}

	async recover(err) {
		if (err.kind !== 'SANDBOX_UNAVAILABLE' || !this.manager.use(err.sessionId)) return err.kind
		this.manager.use(err.sessionId).sandbox = await this.make()
		return 'recreated'
	}

	// As such programs do it: through code, with the content as base64 so that it cannot break out.
	async uploadFile(sessionId, file, content) {
		const packed = Buffer.from(content).toString('base64')
		const { error } = await this.executeCode(
			sessionId,
			`import base64, pathlib
p = pathlib.Path(${JSON.stringify(file)}); p.parent.mkdir(parents=True, exist_ok=True); ` +
				`p.write_bytes(base64.b64decode("${packed}"))`,
		)
		assert.equal(error, null)
	}

	async downloadFile(sessionId, file) {
		const { output } = await this.executeCode(
			sessionId,
			`import base64\nprint(base64.b64encode(open(${JSON.stringify(file)}, "rb").read()).decode())`,
		)
		return Buffer.from(output, 'base64').toString()
	}

	listFiles(sessionId, dir) {
		return this.executeCode(sessionId, `import os; print(sorted(os.listdir(${JSON.stringify(dir)})))`)
	}

	async terminal(sessionId, command) {
		if (REFUSED.some((pattern) => pattern.test(command)))
			throw new Error('Command not allowed by security policy')
		return await this.executeCode(sessionId, command, 'bash')
	}

	async usage(sessionId) {
		for (let i = 0; i < 300; i++) {
			const points = await this.manager.use(sessionId).sandbox.getMetrics()
			if (points.length) return points.at(-1)
			await new Promise((done) => setTimeout(done, 100))
		}
		throw new Error('no metrics')
	}
}

async function tools(service, id) {
	for (const [language, code] of Object.entries({
		python: 'print(6 * 7)',
		javascript: 'console.log(6 * 7)',
		typescript: 'const n: number = 42; console.log(n)',
		bash: 'echo $((6 * 7))',
	})) {
		const got = await service.executeCode(id, code, language)
		assert.deepEqual([got.output, got.error], ['42', null], language)
	}
	const content = 'two\nlines with \'quotes\' and """ and \\ and ä\n'
	await service.uploadFile(id, '/home/user/deep/down/file.txt', content)
	assert.equal(await service.downloadFile(id, '/home/user/deep/down/file.txt'), content)
	assert.equal((await service.listFiles(id, '/home/user/deep')).output, "['down']")
	assert.equal((await service.terminal(id, 'cd /home/user/deep && pwd')).output, '/home/user/deep')
	await assert.rejects(service.terminal(id, 'sudo ls'), /not allowed by security policy/)
	const usage = await service.usage(id)
	assert.ok(usage.memUsed > 0 && usage.memUsed < usage.memTotal && usage.cpuCount > 0, JSON.stringify(usage))
}

async function processes(service, id) {
	const { sandbox } = service.manager.use(id)
	let seen = ''
	const server = await sandbox.commands.run('python3 -u -m http.server 8000', {
		background: true,
		timeoutMs: 0,
		onStdout: (text) => {
			seen += text
		},
	})
	assert.ok((await sandbox.commands.list()).some((one) => one.pid === server.pid))
	for (let i = 0; i < 300 && !seen.includes('Serving'); i++) await new Promise((done) => setTimeout(done, 100))
	assert.match(seen, /Serving HTTP/)
	assert.equal(await server.kill(), true)
}

async function faults(service, id) {
	const late = await service.executeCode(id, 'while True: pass', 'python', 1500).catch((err) => err)
	assert.deepEqual([late.kind, late.sessionId, await service.recover(late)], ['TIMEOUT', id, 'TIMEOUT'])
	assert.equal((await service.executeCode(id, 'print("goes on")')).output, 'goes on')
	assert.equal((await service.executeCode(id, 'undefined_name')).error.name, 'NameError')

	await service.manager.use(id).sandbox.kill()
	const lost = await service.executeCode(id, 'print(1)').catch((err) => err)
	assert.match(lost.message, /^E2B execution failed: /)
	assert.equal(await service.recover(lost), 'recreated')
	assert.equal((await service.executeCode(id, 'print("again")')).output, 'again')
}

async function sessions() {
	let clock = 0
	const seen = { created: 0, destroyed: 0 }
	const manager = new SessionManager(() => clock)
	const service = new Service(manager)
	for (const event of Object.keys(seen))
		manager.on(event, () => {
			seen[event]++
		})
	const ids = await Promise.all(
		Array.from({ length: CONFIG.maxConcurrentSessions }, (_, i) => service.createSession(`agent${i}`)),
	)
	const surplus = await service.make()
	assert.throws(() => manager.add('one too many', surplus), /limit/)
	await surplus.kill()
	const own = await Promise.all(ids.map((id, i) => service.executeCode(id, `mine = ${i}\nprint(mine)`)))
	assert.deepEqual(
		own.map((one) => one.output),
		ids.map((_, i) => String(i)),
	)
	clock = CONFIG.sessionTimeout
	manager.use(ids[0])
	clock++
	await manager.cleanupExpired()
	assert.deepEqual([...manager.sessions.keys()], [ids[0]])
	await manager.destroy(ids[0])
	assert.deepEqual(seen, { created: ids.length, destroyed: ids.length })
}

const service = new Service(new SessionManager())
const id = await service.createSession('main')
try {
	await tools(service, id)
	await processes(service, id)
	await faults(service, id)
} finally {
	await service.manager.destroy(id)
}
await sessions()
console.log('done')
process.exit(0)
