// SPDX-License-Identifier: Apache-2.0
// An agent's sandbox module under Deno, and a run of it: createSandbox, executeCode, writeFile, readFile, listFiles, installPackages.
// One structured line per operation, as such agents keep them.
import { Sandbox } from '@e2b/code-interpreter'
import assert from 'node:assert/strict'
import process from 'node:process'

interface Options {
	apiKey?: string
	timeoutMs?: number
	sandbox?: Sandbox
}

type Language = 'python' | 'javascript' | 'typescript'

function log(level: 'info' | 'error', operation: string, details: Record<string, unknown> = {}) {
	console.log(`LOG ${JSON.stringify({ level, operation, ...details })}`)
}

async function logged<T>(
	operation: string,
	details: Record<string, unknown>,
	work: () => Promise<T>,
	count?: (got: T) => object,
): Promise<T> {
	try {
		const got = await work()
		log('info', operation, { ...details, ...count?.(got) })
		return got
	} catch (err) {
		log('error', operation, { ...details, message: (err as Error).message })
		throw err
	}
}

export function createSandbox(options: Options = {}): Promise<Sandbox> {
	const apiKey = options.apiKey ?? process.env.E2B_API_KEY
	if (!apiKey) return Promise.reject(new Error('set E2B_API_KEY, or give apiKey'))
	return logged('createSandbox', {}, () => Sandbox.create({ apiKey, timeoutMs: options.timeoutMs ?? 300000 }))
}

// A sandbox of its own for one call, gone afterwards also when the call fails; or the one that was given.
async function within<T>(options: Options, use: (sandbox: Sandbox) => Promise<T>): Promise<T> {
	if (options.sandbox) return await use(options.sandbox)
	const sandbox = await createSandbox(options)
	try {
		return await use(sandbox)
	} finally {
		await sandbox.kill()
	}
}

const prepare = (code: string, language: Language) =>
	language === 'typescript' && !code.includes('@ts-nocheck') ? `// @ts-nocheck\n${code}` : code

export function executeCode(code: string, options: Options & { language?: Language } = {}) {
	const language = options.language ?? 'python'
	return within(options, (sandbox) =>
		logged(
			'executeCode',
			{ language, contentLength: code.length },
			async () => {
				const run = await sandbox.runCode(prepare(code, language), { language })
				return {
					text: run.text ?? run.logs.stdout.join(''),
					results: run.results,
					logs: run.logs,
					error: run.error ?? null,
				}
			},
			(got) => ({ resultsCount: got.results.length }),
		),
	)
}

export function writeFile(path: string, content: string, options: Options = {}) {
	return within(options, (sandbox) =>
		logged('writeFile', { path, contentLength: content.length }, () => sandbox.files.write(path, content)),
	)
}

export function readFile(path: string, options: Options = {}) {
	return within(options, (sandbox) =>
		logged(
			'readFile',
			{ path },
			() => sandbox.files.read(path),
			(text) => ({ contentLength: text.length }),
		),
	)
}

export function listFiles(path: string, options: Options = {}) {
	return within(options, (sandbox) =>
		logged(
			'listFiles',
			{ path },
			async () => (await sandbox.files.list(path)).map((one) => one.name),
			(names) => ({ fileCount: names.length }),
		),
	)
}

export function installPackages(packages: string[], options: Options & { language?: 'python' | 'javascript' } = {}) {
	const command = options.language === 'javascript' ? 'npm install --no-audit --no-fund' : 'pip install'
	return within(options, (sandbox) =>
		logged('installPackages', { packages }, () => sandbox.runCode(`!${command} ${packages.join(' ')}`)),
	)
}

async function ids(): Promise<string[]> {
	const all = []
	for (const pages = Sandbox.list(); pages.hasNext;) all.push(...(await pages.nextItems()))
	return all.map((one) => one.sandboxId)
}

// A wheel without an index to fetch it from.
const WHEEL = `
import zipfile
info = "mini_of_ours-1.0.dist-info"
with zipfile.ZipFile("/tmp/mini_of_ours-1.0-py3-none-any.whl", "w") as z:
    z.writestr("mini_of_ours.py", "answer = 42\\n")
    z.writestr(info + "/METADATA", "Metadata-Version: 2.1\\nName: mini-of-ours\\nVersion: 1.0\\n")
    z.writestr(info + "/WHEEL", "Wheel-Version: 1.0\\nGenerator: by hand\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    z.writestr(info + "/RECORD", "")
`

async function withoutKey() {
	const key = process.env.E2B_API_KEY
	delete process.env.E2B_API_KEY
	await assert.rejects(createSandbox(), /E2B_API_KEY/)
	process.env.E2B_API_KEY = key
}

async function oneShots() {
	const before = await ids()
	assert.equal((await executeCode('print("Hello World")')).text, 'Hello World\n')
	assert.equal((await executeCode('1/0')).error?.name, 'ZeroDivisionError')
	await assert.rejects(readFile('/nowhere'))
	assert.deepEqual(
		(await ids()).filter((id) => !before.includes(id)),
		[],
		'nothing is left behind',
	) // of those before some may end
}

async function session() {
	const sandbox = await createSandbox({ timeoutMs: 600000 })
	const options = { sandbox }
	try {
		await executeCode('x = 10', options)
		assert.equal((await executeCode('x * 2', options)).text, '20')
		assert.equal(
			(
				await executeCode(
					'const fs = require("fs"); fs.writeFileSync("output.json", JSON.stringify({ a: 1 })); console.log("done")',
					{ ...options, language: 'javascript' },
				)
			).text,
			'done\n',
		)
		assert.equal(await readFile('/home/user/output.json', options), '{"a":1}')
		assert.equal(
			(
				await executeCode('const n: number = "six" as any; console.log(n)', {
					...options,
					language: 'typescript',
				})
			).text,
			'six\n',
		)
		await writeFile('/home/user/src/a.py', 'print("quoted \\"text\\"")\n', options)
		assert.deepEqual(await listFiles('/home/user/src', options), ['a.py'])
		assert.match(
			(await installPackages(['numpy', 'pandas'], options)).logs.stdout.join(''),
			/already satisfied: numpy/,
		)
		await executeCode(WHEEL, options)
		await installPackages(['/tmp/mini_of_ours-1.0-py3-none-any.whl'], options)
		assert.equal((await executeCode('import mini_of_ours; mini_of_ours.answer', options)).text, '42')
	} finally {
		await sandbox.kill()
	}
}

await withoutKey()
await oneShots()
await session()
console.log('done')
process.exit(0)
