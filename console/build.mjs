// SPDX-License-Identifier: Apache-2.0
// Builds the web console: build.mjs [--check] SOURCE WORK OUT STAMP DEPFILE
//
// WORK gets the packages of the lock file and links to the sources, OUT the files to serve. The source tree stays as it
// is. --check only checks the types.
import fs from 'node:fs'
import path from 'node:path'
import crypto from 'node:crypto'
import zlib from 'node:zlib'
import { createRequire } from 'node:module'
import { spawnSync } from 'node:child_process'

const argv = process.argv.slice(2)
const check = argv[0] === '--check' && argv.shift()
const [source, work, out, stamp, depfile] = argv.map((name) => path.resolve(name))
const require = createRequire(path.join(work, 'package.json'))
const TRIES = 3

function die(text) {
	console.error(`console: ${text}`)
	process.exit(1)
}

// The packages of the lock file, installed once for each of its versions.
function install() {
	const lock = fs.readFileSync(path.join(source, 'package-lock.json'))
	const want = crypto.createHash('sha256').update(lock).update(process.version).digest('hex')
	const mark = path.join(work, 'node_modules/.installed')
	if (fs.existsSync(mark) && fs.readFileSync(mark, 'utf8') === want) return
	fs.mkdirSync(work, { recursive: true })
	for (const name of ['package.json', 'package-lock.json'])
		fs.copyFileSync(path.join(source, name), path.join(work, name))
	for (let tries = 1; ; tries++) {
		const run = spawnSync(
			'npm',
			['ci', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
			{ cwd: work, encoding: 'utf8' },
		)
		if (run.status === 0) break
		if (tries === TRIES)
			die(
				'npm cannot install the packages of console/package-lock.json. The first build needs ' +
					`a network; -Dconsole=false builds without it.\n${run.error ?? run.stderr}`,
			)
	}
	fs.writeFileSync(mark, want)
}

function link(name) {
	const at = path.join(work, name)
	fs.rmSync(at, { force: true })
	fs.symlinkSync(path.join(source, name), at)
}

// The SDK builds templates from files of a machine with Node. A page cannot, and does not carry that part.
const withoutNode = {
	name: 'without-node',
	setup(build) {
		build.onResolve({ filter: /^(node:.*|tar|glob|undici|undici8|dockerfile-ast)$/ }, ({ path }) => ({
			path,
			namespace: 'node',
		}))
		build.onLoad({ filter: /.*/, namespace: 'node' }, () => ({ contents: 'module.exports = {}' }))
	},
}

const hashOf = (bytes) => crypto.createHash('sha256').update(bytes).digest()

async function bundle() {
	const esbuild = require('esbuild')
	const result = await esbuild.build({
		absWorkingDir: work,
		entryPoints: { main: 'src/main.tsx', style: 'src/style.css' },
		entryNames: '[name]-[hash]',
		chunkNames: '[name]-[hash]',
		assetNames: '[name]-[hash]',
		outdir: path.join(out, 'assets'),
		bundle: true,
		splitting: true,
		format: 'esm',
		target: 'es2022',
		minify: true,
		legalComments: 'none',
		metafile: true,
		preserveSymlinks: true,
		jsx: 'automatic',
		jsxImportSource: 'preact',
		define: { 'process.env.NODE_ENV': '"production"' },
		plugins: [withoutNode],
		logLevel: 'warning',
	})
	return result.metafile
}

// In place: a server may have the directory open. Hidden files are the build's own.
function clean() {
	fs.mkdirSync(out, { recursive: true })
	for (const name of fs.readdirSync(out))
		if (!name.startsWith('.')) fs.rmSync(path.join(out, name), { recursive: true, force: true })
	fs.mkdirSync(path.join(out, 'assets'))
}

function entry(meta, name) {
	const found = Object.entries(meta.outputs).find(([, made]) => made.entryPoint === name)
	return found && `assets/${path.basename(found[0])}`
}

// The pages: the console, and the frame in which HTML results of cells are shown.
function pages(meta) {
	const fill = (name, words) => {
		let text = fs.readFileSync(path.join(source, name), 'utf8')
		for (const [key, value] of Object.entries(words)) text = text.replaceAll(`{{${key}}}`, value)
		fs.writeFileSync(path.join(out, name), text)
	}
	fill('index.html', { main: entry(meta, 'src/main.tsx'), style: entry(meta, 'src/style.css') })
	const script = fs.readFileSync(path.join(source, 'frame.js'), 'utf8')
	fill('frame.html', { script, hash: hashOf(script).toString('base64') })
	fs.copyFileSync(path.join(source, 'favicon.svg'), path.join(out, 'favicon.svg'))
}

// What is in the bundle, with its licences.
function licences(meta) {
	const roots = new Set()
	for (const name of Object.keys(meta.inputs)) {
		const m = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(name)
		if (m) roots.add(m[1])
	}
	const parts = [...roots].sort().map((dir) => {
		const at = path.join(work, dir),
			info = JSON.parse(fs.readFileSync(path.join(at, 'package.json'), 'utf8'))
		const file = fs.readdirSync(at).find((name) => /^licen[cs]e/i.test(name))
		const text = file ? fs.readFileSync(path.join(at, file), 'utf8').trim() : ''
		return `${info.name} ${info.version}\nLicence: ${info.license ?? 'see below'}\n\n${text}\n`
	})
	const line = `\n${'-'.repeat(80)}\n\n`
	fs.writeFileSync(
		path.join(out, 'licenses.txt'),
		`The web console of atoll contains the following packages.\n${line}${parts.join(line)}`,
	)
}

function compress() {
	for (const name of fs.readdirSync(out, { recursive: true })) {
		const file = path.join(out, name)
		if (!fs.statSync(file).isFile()) continue
		const bytes = fs.readFileSync(file)
		fs.writeFileSync(`${file}.gz`, zlib.gzipSync(bytes, { level: 9 }))
		fs.writeFileSync(`${file}.br`, zlib.brotliCompressSync(bytes))
	}
}

function depend(meta) {
	const inputs = Object.keys(meta.inputs)
		.filter((name) => name.startsWith('src/'))
		.map((name) => path.join(source, name))
	fs.writeFileSync(depfile, `${stamp}: ${inputs.map((name) => name.replaceAll(' ', '\\ ')).join(' ')}\n`)
	fs.writeFileSync(stamp, JSON.stringify(Object.keys(meta.outputs).map((name) => path.basename(name))))
}

install()
for (const name of ['src', 'tsconfig.json']) link(name)
if (check) {
	const run = spawnSync(process.execPath, [require.resolve('typescript/bin/tsc'), '-p', work], {
		stdio: 'inherit',
	})
	process.exit(run.status ?? 1)
}
clean()
const meta = await bundle()
pages(meta)
licences(meta)
compress()
depend(meta)
