// SPDX-License-Identifier: Apache-2.0
// The programs and commands in a page: fenced and indented blocks of Markdown, literal displays of a manual page.
//
// A comment right before a block, which readers do not see, says what is not plain from the block itself:
//
//	<!-- run: NAME=VALUE ... -->	it is run like all others, but
//		server=none	without a server, in a network of its own: it starts one
//		file=NAME	it is a file, which the blocks after it use
//		expect='TEXT'	and its output has TEXT in it
//		setup=NAME	after that function of setups.mjs
//		as=KIND		as another kind than its fence says
//		clients		with what official clients need, from npm
//	<!-- tested by: FILE -->	that test runs it, and names this page
//	<!-- not run: REASON -->	nobody does
//	<!-- text -->			it is no program
//
// In a manual page the same stands behind .\" on a line of its own.
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export const TOP = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..')

const KINDS = {
	js: 'js',
	mjs: 'js',
	javascript: 'js',
	python: 'py',
	py: 'py',
	sh: 'sh',
	bash: 'sh',
	console: 'sh',
	c: 'c',
	json: 'json',
	conf: 'conf',
	ini: 'conf',
	dockerfile: 'text',
}

function directive(text) {
	const m = /^(run|not run|text|tested by)\b\s*:?\s*(.*)$/.exec(text)
	if (!m) return null
	const [, what, rest] = m
	if (what === 'run') {
		const opt = { what }
		for (const [, name, quoted, bare] of rest.matchAll(/([a-z]+)(?:=(?:'([^']*)'|(\S+)))?/g))
			opt[name] = quoted ?? bare ?? true
		return opt
	}
	return { what, why: rest }
}

function block(page, line, fence, lines, before) {
	const said = before ?? { what: 'run' }
	const kind = said.as ?? KINDS[fence] ?? fence
	return { page, line, kind, text: lines.join('\n') + '\n', ...said }
}

function ofMarkdown(page, text) {
	const all = [],
		lines = text.split('\n')
	let before = null,
		blank = true,
		inList = false
	for (let i = 0; i < lines.length; i++) {
		const line = lines[i],
			comment = /^<!--\s*(.*?)\s*-->$/.exec(line),
			fence = /^(`{3,})\s*([\w-]*)/.exec(line)
		if (comment) {
			before = directive(comment[1]) ?? before
		} else if (fence) {
			const from = i + 1
			while (i + 1 < lines.length && !lines[i + 1].startsWith(fence[1])) i++
			all.push(block(page, from + 1, fence[2] || 'none', lines.slice(from, i + 1), before))
			before = null
			i++
		} else if (/^(    |\t)\S/.test(line) && blank && !inList) {
			const from = i
			while (
				i + 1 < lines.length &&
				(/^(    |\t)/.test(lines[i + 1]) ||
					(lines[i + 1] === '' && /^(    |\t)/.test(lines[i + 2] ?? '')))
			)
				i++
			all.push(
				block(
					page,
					from + 1,
					'sh',
					lines.slice(from, i + 1).map((l) => l.replace(/^( {4}|\t)/, '')),
					before,
				),
			)
			before = null
		} else if (line !== '') {
			before = null
			inList = /^([-*]|\d+\.) /.test(line) || (inList && /^ {2,}/.test(line))
		}
		blank = line === ''
	}
	return all
}

const unescaped = (line) =>
	line
		.replace(/\\e/g, '\\')
		.replace(/\\&/g, '')
		.replace(/\\-/g, '-')
		.replace(/\\\(aq/g, "'")

function ofManual(page, text) {
	const all = [],
		lines = text.split('\n')
	let before = null
	for (let i = 0; i < lines.length; i++) {
		const comment = /^\.\\"\s*(.*)$/.exec(lines[i])
		if (comment) {
			before = directive(comment[1]) ?? before
		} else if (/^\.Bd -literal/.test(lines[i])) {
			const from = i + 1
			while (lines[i + 1] !== '.Ed') i++
			all.push(block(page, from + 1, 'sh', lines.slice(from, i + 1).map(unescaped), before))
			before = null
		} else if (!/^\.(Pp|Bd)/.test(lines[i])) {
			before = null
		}
	}
	return all
}

export function pages() {
	const of = (dir) => fs.readdirSync(path.join(TOP, dir)).map((name) => `${dir}/${name}`)
	const docs = [...of('docs'), ...of('docs/internals')].filter((name) => name.endsWith('.md'))
	return ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...docs, ...of('docs/man')]
}

export const read = (page) => fs.readFileSync(path.join(TOP, page), 'utf8')

export function blocksOf(page) {
	return page.endsWith('.md') ? ofMarkdown(page, read(page)) : ofManual(page, read(page))
}
