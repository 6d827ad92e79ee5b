// SPDX-License-Identifier: Apache-2.0
// Manual pages and docs against the programs: verbs, options, settings and routes, each way.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { request, server } from '../lib/client.mjs'
import { pages, read, TOP } from './blocks.mjs'

const ATOLL = path.join(server.buildDir, 'src/cli/atoll')
const ATOLLD = path.join(server.buildDir, 'src/warden/atolld')
const FOR_TESTS = ['first-place', 'restart-max-ms'] // of atolld
const EVERYWHERE = ['api-url', 'sandbox-url', 'api-key', 'state', 'mock', 'help'] // "Which server" of the manual

function help(...verb) {
	const run = spawnSync(ATOLL, [...verb, '--help'], { encoding: 'utf8' })
	assert.equal(run.status, 0, `atoll ${verb.join(' ')} --help: ${run.stderr}`)
	return run.stdout
}

const optionsIn = (text) => new Set([...text.matchAll(/(?<![\w-])--([a-z][a-z0-9-]*)/g)].map((m) => m[1]))

// Of the usage and of lines that begin with one, not of sentences.
const ownOptions = (text) =>
	optionsIn(
		text
			.replace(/The server is selected by[^]*/, '')
			.split('\n')
			.map((l) => /^usage:.*|^ +(-\w, )?--[a-z][^]*?(?= {2}|$)/.exec(l)?.[0] ?? '')
			.join('\n'),
	)

// { 'key create': Set of options }, from the help that the program itself prints.
function verbs() {
	const all = {}
	for (const [, verb] of help().matchAll(/^ {2}([a-z-]+) {2,}\S/gm)) {
		const text = help(verb)
		const subs = [...text.matchAll(new RegExp(`^ {2}${verb} ([a-z-]+) +\\S`, 'gm'))].map((m) => m[1])
		if (subs.length === 0) all[verb] = ownOptions(text)
		for (const sub of subs) all[`${verb} ${sub}`] = ownOptions(help(verb, sub))
	}
	return all
}

// The same from atoll(1): what the synopsis lists, and all that a section of a verb speaks of.
function manual() {
	const text = read('docs/man/atoll.1')
	const options = (part) =>
		new Set(
			[
				...part.matchAll(
					/Fl (?:[A-Za-z0-9] (?:, |\| )*)?-([a-z][a-z0-9-]*)|[|,] -([a-z][a-z0-9-]+)/g,
				),
			].map((m) => m[1] ?? m[2]),
		)
	const synopsis = {}
	for (const one of /^\.Sh SYNOPSIS\n([^]*?)^\.Sh/m
		.exec(text)[1]
		.split(/^\.Nm$/m)
		.filter((s) => s.trim())) {
		const words = [...one.matchAll(/^\.Cm ([a-z][a-z-]*)(?: \| (.*))?$/gm)].map((m) => m[1])
		const name = words.slice(0, 2).join(' ')
		synopsis[name] = new Set([...(synopsis[name] ?? []), ...options(one)])
	}
	const sections = {}
	for (const [, verb, body] of text.matchAll(/^\.Ss ([a-z-]+)\n([^]*?)(?=^\.S[sh] )/gm))
		sections[verb] = options(body)
	return { synopsis, sections }
}

const real = verbs(),
	{ synopsis, sections } = manual()
const first = (name) => name.split(' ')[0]

test('atoll(1) has every verb that there is, and no other', () => {
	assert.deepEqual(Object.keys(sections).sort(), [...new Set(Object.keys(real).map(first))].sort())
	const text = read('docs/man/atoll.1')
	// A verb is in the synopsis; a verb of a verb there, alone or as 'info | rm', or in its section.
	const missing = Object.keys(real).filter((name) => {
		const [verb, sub] = name.split(' ')
		const inSection = new RegExp(
			`^\\.Ss ${verb}\\n(?:(?!^\\.S[sh] )[^])*?\\bCm (?:${verb} )?${sub}\\b`,
			'm',
		)
		return sub ? !synopsis[name] && !inSection.test(text) : !synopsis[name]
	})
	assert.deepEqual(missing, [])
	assert.deepEqual(
		Object.keys(synopsis).filter(
			(s) => !real[s] && !real[first(s)] && !Object.keys(real).some((r) => r.startsWith(`${s} `)),
		),
		[],
	)
})

test('atoll(1) has every option of every verb, and no other', () => {
	const wrong = []
	for (const [name, options] of Object.entries(real)) {
		const told = new Set([
			...(sections[first(name)] ?? []),
			...Object.entries(synopsis)
				.filter(([s]) => first(s) === first(name))
				.flatMap(([, o]) => [...o]),
		])
		wrong.push(
			...[...options]
				.filter((o) => !told.has(o) && !EVERYWHERE.includes(o))
				.map((o) => `atoll ${name} --${o} is not in the manual`),
		)
	}
	const ofVerb = (verb) =>
		new Set([
			...EVERYWHERE,
			...Object.entries(real)
				.filter(([r]) => first(r) === verb)
				.flatMap(([, o]) => [...o]),
		])
	for (const [name, told] of [...Object.entries(sections), ...Object.entries(synopsis)])
		wrong.push(
			...[...told]
				.filter((o) => !ofVerb(first(name)).has(o) && !isSetting(o))
				.map((o) => `atoll ${first(name)} --${o} is in the manual only`),
		)
	assert.deepEqual([...new Set(wrong)], [])
})

// --- settings ----------------------------------------------------------------------------------------------------

// What `atolld --help` says of each setting: { name, form, help, cliOnly }. Those of the command line only come first.
function settings() {
	const [, cli, file] = spawnSync(ATOLLD, ['--help'], { encoding: 'utf8' }).stdout.split(/\n\n(?= {2}--)/)
	const all = (part, cliOnly) =>
		[...part.matchAll(/^ {2}--([a-z-]+) (\S+)\n {8}(.*)$/gm)].map(([, option, form, help]) => ({
			name: option.replace(/-/g, '_'),
			form,
			help,
			cliOnly,
		}))
	return [...all(cli, true), ...all(file, false)]
}

function isSetting(option) {
	return settings().some(({ name }) => name === option.replace(/-/g, '_'))
}

test('atoll.conf(5) has every setting, and no other', () => {
	assert.ok(settings().length > 100)
	const told = [...read('docs/man/atoll.conf.5').matchAll(/^\.It Cm (.*)$/gm)]
		.flatMap((m) => m[1].split(' , '))
		.map((s) => s.trim())
	assert.deepEqual(
		told.toSorted(),
		settings()
			.filter((s) => !s.cliOnly)
			.map((s) => s.name)
			.toSorted(),
	)
})

// What the manual says of a setting, with the names that share its entry.
function entries() {
	const all = {}
	for (const [, names, text] of read('docs/man/atoll.conf.5').matchAll(
		/^\.It Cm (.*)\n([^]*?)(?=^\.It Cm |^\.El)/gm,
	))
		for (const name of names.split(' , ')) all[name] = text
	return all
}

// A number that is chosen at the start, and what the number of processors decides.
const CHOSEN = ['warm_pool_max', 'mem_total_mb', 'pool_size_mb', 'pool_max_mb', 'max_cpus']

test('atoll.conf(5) has the default of every setting', () => {
	const man = entries(),
		wrong = []
	const told = {
		NUMBER: (value, text) => new RegExp(`(?<![\\d.])${value}(?![\\d.]\\d)`).test(text),
		CORES: (value, text) => new RegExp(`(?<![\\d.])${value}(?![\\d.]\\d)`).test(text),
		'true|false': (value, text) =>
			new RegExp(`default is\\s+\\.Cm ${value}|\\.Cm ${value} ,\\s+the default`).test(text),
		WORD: (value, text) => new RegExp(`\\.Cm ${value}( ,)?\\s+(\\.Pq |\\()?the default`).test(text),
		TEXT: (value, text) => text.replace(/\s+(\.Pa|\.Sy)?\s*/g, ' ').includes(value),
		PATH: (value, text) => text.includes(value),
	}
	for (const { name, form, help } of settings().filter((s) => !s.cliOnly && !CHOSEN.includes(s.name))) {
		const value = /; default (.*)$/.exec(help)?.[1]
		if (
			value !== undefined &&
			!told[form](value.replace(/[.+]/g, form === 'TEXT' ? '$&' : '\\$&'), man[name])
		)
			wrong.push(`${name}: ${value} is not in:\n${man[name]}`)
	}
	assert.deepEqual(wrong, [])
	assert.deepEqual(
		CHOSEN.filter((name) => !man[name]),
		[],
	)
})

test('settings that pages speak of are known to atolld', () => {
	const known = new Set(settings().map((s) => s.name))
	const wrong = pages()
		.filter((p) => p.endsWith('.md'))
		.flatMap((page) =>
			[...read(page).matchAll(/`([a-z]+(?:_[a-z]+)+) = [^`]+`/g)]
				.filter((m) => !known.has(m[1]))
				.map((m) => `${page}: ${m[1]}`),
		)
	assert.deepEqual(wrong, [])
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-conf-'))
	fs.writeFileSync(path.join(dir, 'a.conf'), 'no_such_setting = 1\n')
	assert.notEqual(
		spawnSync(ATOLLD, ['--config', path.join(dir, 'a.conf'), '--version']).status,
		0,
		'a setting that is not known is refused',
	)
	fs.rmSync(dir, { recursive: true })
})

// --- programs of libexec -----------------------------------------------------------------------------------------

const toldOptions = (page) => [...new Set([...read(page).matchAll(/\bFl -([a-z][a-z-]*)/g)].map((m) => m[1]))].sort()

test('atolld(8) speaks of options that there are, and of those that are in no file', () => {
	const known = settings().map((s) => s.name.replace(/_/g, '-'))
	assert.deepEqual(
		toldOptions('docs/man/atolld.8').filter((o) => !known.includes(o) && !['version', 'help'].includes(o)),
		[],
	)
	const told = [...toldOptions('docs/man/atolld.8'), ...FOR_TESTS]
	assert.deepEqual(
		settings()
			.filter((s) => s.cliOnly)
			.map((s) => s.name.replace(/_/g, '-'))
			.filter((o) => !told.includes(o)),
		[],
	)
})

test('atoll-pull(8) has every option, and no other', () => {
	const longs = /static const struct option longs\[\] = \{\n([^]*?)^\};/m.exec(
		fs.readFileSync(path.join(TOP, 'src/oci/main.c'), 'utf8'),
	)[1]
	assert.deepEqual(
		toldOptions('docs/man/atoll-pull.8'),
		[...longs.matchAll(/\{ "([a-z-]+)"/g)].map((m) => m[1]).sort(),
	)
})

// --- routes ------------------------------------------------------------------------------------------------------

const ROUTES = [
	...fs
		.readFileSync(path.join(TOP, 'src/front/api/routes.c'), 'utf8')
		.matchAll(/^\t\{ "([A-Z]+)", "(\/[^"]*)"/gm),
].map(([, method, route]) => ({ method, route }))
const plain = (route) => route.replace(/\{[^}]*\}/g, '{}').replace(/\/$/, '')

// "POST /sandboxes/{id}/fork", "`GET`, `POST`, `DELETE /secrets/{id}`": what stands for something else, like /..., is
// left out.
function documented(page) {
	const found = []
	for (const [, methods, route] of read(page)
		.replace(/`/g, '')
		.matchAll(/((?:(?:GET|POST|PUT|PATCH|DELETE|HEAD)(?:, | and | or )?)+) (\/[A-Za-z0-9_{}/.-]*)/g)) {
		if (/\.\.\.|…/.test(route)) continue
		for (const [method] of methods.matchAll(/[A-Z]+/g))
			found.push({ page, method, route: route.replace(/[.,]+$/, '') })
	}
	return found
}

test('routes that pages speak of are there', async () => {
	const wrong = []
	for (const { page, method, route } of pages()
		.filter((p) => p.endsWith('.md') && !p.includes('protocol-'))
		.flatMap(documented)) {
		if (ROUTES.some((r) => plain(r.route) === plain(route) && (r.method === method || method === 'HEAD')))
			continue
		// Of envd, volumes and the agent layer: not in the table. Without a key a route says so; what is no
		// route is not found.
		const path = route.replace(/\{[^}]*\}/g, 'x')
		const asked = await request(method, path, {})
		const inside = await request(method, path, {
			headers: { 'E2b-Sandbox-Id': 'i0000000000000000000', 'E2b-Sandbox-Port': '49983' },
		})
		if (
			asked.status === 404 &&
			/no such|not found/i.test(asked.text) &&
			!insideRoutes().has(`${method} ${route}`) &&
			inside.status !== 200
		)
			wrong.push(`${page}: ${method} ${route} (${asked.status})`)
		else if (asked.status === 405) wrong.push(`${page}: ${method} ${route} (405)`)
	}
	assert.deepEqual(wrong, [])
})

// What atoll-init serves in a sandbox.
function insideRoutes() {
	const all = fs
		.readdirSync(path.join(TOP, 'src/init'), { recursive: true })
		.filter((f) => f.endsWith('.c'))
		.map((f) => fs.readFileSync(path.join(TOP, 'src/init', f), 'utf8'))
		.join('\n')
	return new Set(
		[...all.matchAll(/\{ "([A-Z]+)", "(\/[^"]*)"/g)].map(([, method, route]) => `${method} ${route}`),
	)
}

// E2B documents its own; what is more than that has to be told here.
const OF_E2B = new RegExp(
	'^/(health|sandboxes|v2/sandboxes|templates|v2/templates|v3/templates|snapshots|volumes|teams|' +
		'api-keys|access-tokens|nodes|secrets)\\b',
)

test('routes that E2B does not have are told', () => {
	const told = new Set(
		pages()
			.filter((p) => p.endsWith('.md'))
			.flatMap(documented)
			.map((r) => `${r.method} ${plain(r.route)}`),
	)
	assert.deepEqual(
		ROUTES.filter((r) => !OF_E2B.test(r.route) && !told.has(`${r.method} ${plain(r.route)}`)).map(
			(r) => `${r.method} ${r.route}`,
		),
		[],
	)
})

// --- commands in the text ----------------------------------------------------------------------------------------

test('commands in the text have verbs and options that there are', () => {
	const wrong = []
	for (const page of pages().filter((p) => p.endsWith('.md'))) {
		for (const [, line] of read(page)
			.replace(/```[^]*?```/g, '')
			.matchAll(/`(?:sudo )?atoll ([a-z][^`]*)`/g)) {
			const words = line.split(/\s+/)
			const name = real[`${words[0]} ${words[1]}`] ? `${words[0]} ${words[1]}` : words[0]
			const known =
				real[name] ??
				Object.entries(real)
					.filter(([r]) => first(r) === name)
					.reduce((all, [, o]) => new Set([...(all ?? []), ...o]), null)
			if (!known) wrong.push(`${page}: atoll ${words[0]}`)
			for (const option of known ? optionsIn(line.replace(/ -- .*/, '')) : []) {
				if (
					!known.has(option) &&
					!EVERYWHERE.includes(option) &&
					!(name === 'serve' && isSetting(option))
				)
					wrong.push(`${page}: atoll ${name} --${option}`)
			}
		}
	}
	assert.deepEqual(wrong, [])
})
