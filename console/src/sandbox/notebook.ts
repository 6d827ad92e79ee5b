// SPDX-License-Identifier: Apache-2.0
// What the server has recorded of a sandbox's cells, read from its notebook.
import type { ChartData, Output, Rich } from './outputs'

type Bundle = Record<string, unknown>
type NotebookCell = {
	cell_type: string
	execution_count?: number | null
	source: string | string[]
	outputs?: {
		output_type: string
		name?: string
		text?: string | string[]
		data?: Bundle
		ename?: string
		evalue?: string
		traceback?: string[]
	}[]
}
export type Recorded = { code: string; count: number | null; outputs: Output[] }

const KINDS: Record<string, keyof Rich> = {
	'text/plain': 'text',
	'text/html': 'html',
	'text/markdown': 'markdown',
	'text/latex': 'latex',
	'image/svg+xml': 'svg',
	'image/png': 'png',
	'image/jpeg': 'jpeg',
	'application/json': 'json',
	'application/vnd.e2b.chart+json': 'chart',
}

const joined = (text: string | string[] | undefined): string => (Array.isArray(text) ? text.join('') : (text ?? ''))

function rich(data: Bundle): Rich {
	const made: Record<string, unknown> = {}
	for (const [type, value] of Object.entries(data)) {
		const kind = KINDS[type]
		if (kind === 'json') made.json = value
		else if (kind === 'chart') made.chart = value as ChartData
		else if (kind) made[kind] = joined(value as string | string[])
	}
	return made as Rich
}

export function recorded(notebook: { cells: NotebookCell[] }): Recorded[] {
	return notebook.cells
		.filter((c) => c.cell_type === 'code')
		.map((c) => ({
			code: joined(c.source),
			count: c.execution_count ?? null,
			outputs: (c.outputs ?? []).map((o): Output => {
				if (o.output_type === 'stream')
					return {
						kind: o.name === 'stderr' ? 'err' : 'out',
						text: joined(o.text).slice(-200000),
						dropped: 0,
					}
				if (o.output_type === 'error')
					return {
						kind: 'error',
						name: o.ename ?? '',
						value: o.evalue ?? '',
						trace: (o.traceback ?? []).join('\n'),
					}
				return { kind: 'result', data: rich(o.data ?? {}) }
			}),
		}))
}
