// SPDX-License-Identifier: Apache-2.0
// Code with state: cells in several languages, with rich output. What was run before, by any client, is there too.
import { useEffect, useRef, useState } from 'preact/hooks'
import { signal } from '@preact/signals'
import { get, messageFrom, send } from '../lib/api'
import { seconds, visible } from '../lib/format'
import { sdkOf, type Context, type Result } from '../lib/sdk'
import type { Sandbox } from '../lib/types'
import type { TabProps } from '../pages/sandbox'
import { Editor } from '../ui/editor'
import { Button, Card, Empty, Menu, Select } from '../ui/kit'
import { attempt } from '../ui/toast'
import { addText, Outputs, type Output, type Rich } from './outputs'
import { recorded } from './notebook'

type Cell = {
	id: number
	code: string
	language: string
	count: number | null
	outputs: Output[]
	state: 'running' | 'done'
	ms?: number
}
type Book = { cells: Cell[]; code: string; version: number; language: string; context: Context | null }

const LANGUAGES = [
	['python', 'Python'],
	['javascript', 'JavaScript'],
	['typescript', 'TypeScript'],
	['bash', 'Bash'],
	['r', 'R'],
	['java', 'Java'],
] as const
const CELL_MS = 15 * 60 * 1000,
	SHOWN = 60

// They outlive a look at another tab.
const books = new Map<string, ReturnType<typeof signal<Book>>>()
let ids = 0

function bookOf(s: Sandbox) {
	let book = books.get(s.sandboxID)
	if (!book) {
		book = signal<Book>({ cells: [], code: '', version: 0, language: 'python', context: null })
		books.set(s.sandboxID, book)
		const mine = book
		get<Parameters<typeof recorded>[0]>(`/sandboxes/${s.sandboxID}/notebook`)
			.then((notebook) => {
				const old = recorded(notebook).map((c): Cell => ({
					id: ++ids,
					language: '',
					state: 'done',
					...c,
				}))
				mine.value = { ...mine.value!, cells: [...old, ...mine.value!.cells].slice(-SHOWN) }
			})
			.catch(() => {}) // nothing was recorded
	}
	return book
}

function richOf(r: Result): Rich {
	return {
		text: r.text,
		html: r.html,
		markdown: r.markdown,
		svg: r.svg,
		png: r.png,
		jpeg: r.jpeg,
		latex: r.latex,
		json: r.json,
		chart: r.chart as Rich['chart'],
	}
}

// One after the other, as the contexts run them: each holds a connection of the browser.
const last = new Map<string, Promise<void>>()

function runCell(s: Sandbox): void {
	const book = bookOf(s)
	const { code, language, context } = book.value!
	if (!code.trim()) return
	const cell: Cell = {
		id: ++ids,
		code,
		language: context?.language ?? language,
		count: null,
		outputs: [],
		state: 'running',
	}
	book.value = {
		...book.value!,
		code: '',
		cells: [...book.value!.cells, cell].slice(-SHOWN),
	}
	let waiting: (() => void)[] = []
	let frame = 0
	const change = (more: Partial<Cell>) => {
		Object.assign(cell, more)
		book.value = {
			...book.value!,
			cells: book.value!.cells.map((c) => (c.id === cell.id ? { ...cell } : c)),
		}
	}
	// Floods are drawn once per frame.
	const later = (work: () => void) => {
		waiting.push(work)
		frame ||= window.setTimeout(flush, 16)
	}
	const flush = () => {
		clearTimeout(frame)
		frame = 0
		for (const work of waiting.splice(0)) work()
		change({})
	}
	const print = (kind: 'out' | 'err') => (m: { line: string }) =>
		later(() => {
			cell.outputs = addText(cell.outputs, kind, m.line)
		})
	const work = async () => {
		const begun = performance.now()
		try {
			const sdk = await sdkOf(s)
			const done = await sdk.runCode(code, {
				...(context ? { context } : { language }),
				timeoutMs: CELL_MS,
				onStdout: print('out'),
				onStderr: print('err'),
				onResult: (r) =>
					later(
						() =>
							void (cell.outputs = [
								...cell.outputs,
								{ kind: 'result', data: richOf(r) },
							]),
					),
				onError: (e) =>
					later(
						() =>
							void (cell.outputs = [
								...cell.outputs,
								{
									kind: 'error',
									name: e.name,
									value: e.value,
									trace: e.traceback,
								},
							]),
					),
			})
			flush()
			change({ state: 'done', count: done.executionCount ?? null, ms: performance.now() - begun })
		} catch (err) {
			flush()
			change({
				state: 'done',
				ms: performance.now() - begun,
				outputs: [
					...cell.outputs,
					{ kind: 'error', name: 'Error', value: '', trace: explained(err) },
				],
			})
		}
		waiting = []
	}
	last.set(s.sandboxID, (last.get(s.sandboxID) ?? Promise.resolve()).then(work))
}

function explained(err: unknown): string {
	const text = messageFrom(err)
	if (/port is not open|502|not open/i.test(text))
		return 'This sandbox has no code interpreter. Templates on top of code-interpreter-v1 have one.'
	if (/abort|network|fetch/i.test(text))
		return 'The connection was lost while the cell ran. It may have gone on: run a cell to look.'
	return text
}

export function Cells({ s }: TabProps) {
	const book = bookOf(s)
	const { cells, code, version, language, context } = book.value!
	const [contexts, setContexts] = useState<Context[]>([])
	const end = useRef<HTMLDivElement>(null)
	const set = (more: Partial<Book>) => (book.value = { ...book.value!, ...more })
	const busy = cells.some((c) => c.state === 'running')
	const look = () =>
		void sdkOf(s)
			.then((sdk) => sdk.listCodeContexts())
			.then(setContexts)
			.catch(() => setContexts([]))
	useEffect(look, [s.sandboxID, busy])
	useEffect(() => end.current?.scrollIntoView({ block: 'nearest' }), [cells.length])

	const here = context ?? contexts.find((c) => c.language === language) ?? null
	const fresh = () =>
		void attempt(async () => {
			const sdk = await sdkOf(s)
			const made = await sdk.createCodeContext({ language })
			set({ context: made })
			look()
		}, 'New context: it has variables of its own')
	const restart = () =>
		void (
			here &&
			attempt(
				async () => (await sdkOf(s)).restartCodeContext(here),
				'Restarted: all variables are gone',
			).then(look)
		)
	const save = () =>
		void attempt(async () => {
			const res = await send('GET', `/sandboxes/${s.sandboxID}/notebook`)
			const link = document.createElement('a')
			link.href = URL.createObjectURL(await res.blob())
			link.download = `${s.sandboxID}.ipynb`
			link.click()
			setTimeout(() => URL.revokeObjectURL(link.href), 60000)
		})
	const choice = context ? `#${context.id}` : language
	const choose = (to: string) =>
		to.startsWith('#')
			? set({ context: contexts.find((c) => `#${c.id}` === to) ?? null })
			: set({ language: to, context: null })
	return (
		<Card
			plain
			title="Cells"
			tools={
				<div class="tools">
					<Select
						label="Language or context"
						value={choice}
						set={choose}
						options={[
							...LANGUAGES,
							...contexts.map(
								(c) =>
									[
										`#${c.id}`,
										`${visible(c.language)} · ${visible(c.id.slice(0, 8))}`,
									] as const,
							),
						]}
					/>
					<Menu
						label="Contexts and notebook"
						items={[
							{ name: 'New context', icon: 'plus', act: fresh },
							{
								name: busy
									? 'Stop: restart the context'
									: 'Restart the context',
								icon: 'refresh',
								disabled: !here,
								act: restart,
							},
							{ name: 'Download as a notebook', icon: 'download', act: save },
							{
								name: 'Clear the view',
								icon: 'trash',
								act: () =>
									set({
										cells: cells.filter(
											(c) => c.state === 'running',
										),
									}),
							},
						]}
					/>
				</div>
			}
		>
			{cells.length === 0 && (
				<Empty
					icon="play"
					title="Nothing was run yet"
					text="Type code below and press Shift-Enter. Variables stay from cell to cell."
				/>
			)}
			<div role="log" aria-label="Cells and their output">
				{cells.map((c) => (
					<section
						class="cell"
						key={c.id}
						aria-label={`Cell ${c.count ?? ''}`}
						data-state={c.state}
					>
						<div class="gutter">
							{c.state === 'running' ? (
								<span class="spin" />
							) : (
								`[${c.count ?? ' '}]`
							)}
							{c.ms !== undefined && (
								<span class="nowrap">{seconds(c.ms / 1000)}</span>
							)}
						</div>
						<div>
							<div class="code row">
								<pre class="ran grow" tabIndex={0}>
									{c.code}
								</pre>
								<Button
									small
									icon="edit"
									kind="quiet"
									label="Use this code again"
									onClick={() =>
										set({
											code: c.code,
											version: version + 1,
											...(c.language
												? {
														language: c.language,
														context: null,
													}
												: {}),
										})
									}
								/>
							</div>
							<Outputs of={c.outputs} />
						</div>
					</section>
				))}
			</div>
			<div class="cell">
				<div class="gutter">
					<Button
						small
						icon="play"
						kind="primary"
						label="Run (Shift-Enter)"
						disabled={!code.trim()}
						onClick={() => {
							runCell(s)
							set({ version: version + 1 })
						}}
					/>
				</div>
				<div class="code">
					<div class="editor">
						<Editor
							label="Code of the next cell"
							value={code}
							version={version}
							language={context?.language ?? language}
							change={(text) => set({ code: text })}
							run={() => runCell(s)}
							focus
						/>
					</div>
					<div class="muted small hint-line">
						<kbd>Shift</kbd> <kbd>Enter</kbd> runs it
					</div>
				</div>
				<div ref={end} />
			</div>
		</Card>
	)
}
