// SPDX-License-Identifier: Apache-2.0
// What a cell has put out. Text is text; HTML is shown in a frame of an origin of its own, without network; pictures,
// SVG too, are images, in which nothing runs.
import { useEffect, useRef, useState } from 'preact/hooks'
import { Chart } from '../ui/chart'
import { Button } from '../ui/kit'
import { theme } from '../ui/theme'

export type ChartData = {
	type: string
	title?: string
	x_label?: string
	y_label?: string
	elements: {
		label: string
		points?: [number | string, number | string][]
		value?: number | string
		group?: string
		angle?: number
		median?: number
	}[]
}
export type Rich = {
	text?: string
	html?: string
	markdown?: string
	svg?: string
	png?: string
	jpeg?: string
	latex?: string
	json?: unknown
	chart?: ChartData
}
export type Output =
	| { kind: 'out' | 'err'; text: string; dropped: number }
	| { kind: 'result'; data: Rich }
	| { kind: 'error'; name: string; value: string; trace: string }

const TEXT_MOST = 200000
const ESCAPES = /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007]*(\u0007|\u001b\\)/g

// Adds printed text; of a flood the end is kept, and how much is left out is told.
export function addText(outputs: Output[], kind: 'out' | 'err', text: string): Output[] {
	const last = outputs[outputs.length - 1]
	if (last && (last.kind === 'out' || last.kind === 'err') && last.kind === kind) {
		const all = last.text + text
		const cut = Math.max(0, all.length - TEXT_MOST)
		return [
			...outputs.slice(0, -1),
			{ kind, text: cut ? all.slice(cut) : all, dropped: last.dropped + cut },
		]
	}
	const cut = Math.max(0, text.length - TEXT_MOST)
	return [...outputs, { kind, text: text.slice(cut), dropped: cut }]
}

const plain = (text: string) => text.replace(ESCAPES, '')

export function Outputs({ of }: { of: Output[] }) {
	if (of.length === 0) return null
	return (
		<div class="outputs">
			{of.map((one, i) => {
				if (one.kind === 'result') return <RichOutput key={i} data={one.data} />
				if (one.kind === 'error')
					return (
						<div class="out trace" key={i} tabIndex={0}>
							{plain(one.trace || `${one.name}: ${one.value}`)}
						</div>
					)
				return (
					<div class={`out ${one.kind === 'err' ? 'err' : ''}`} key={i} tabIndex={0}>
						{one.dropped > 0 && (
							<span class="muted">
								… {one.dropped.toLocaleString('en-US')} characters
								before this are left out …{'\n'}
							</span>
						)}
						{plain(one.text)}
					</div>
				)
			})}
		</div>
	)
}

const FORMS = ['chart', 'png', 'jpeg', 'svg', 'html', 'markdown', 'latex', 'json', 'text'] as const
const NAMES: Record<string, string> = {
	chart: 'Chart',
	png: 'Picture',
	jpeg: 'Picture',
	svg: 'Drawing',
	html: 'Table',
	markdown: 'Markdown',
	latex: 'LaTeX',
	json: 'JSON',
	text: 'Text',
}
const DRAWN = ['line', 'scatter', 'bar']

function RichOutput({ data }: { data: Rich }) {
	const forms = FORMS.filter(
		(f) =>
			data[f] !== undefined &&
			data[f] !== null &&
			data[f] !== '' &&
			(f !== 'chart' || DRAWN.includes(data.chart!.type)),
	)
	const first = forms.find((f) => f !== 'chart') ?? forms[0]
	const [form, setForm] = useState<(typeof FORMS)[number] | undefined>(first)
	if (!form) return null
	return (
		<div class="stack tight">
			{forms.length > 1 && (
				<div class="row">
					{forms.map((f) => (
						<Button
							key={f}
							small
							aria-pressed={f === form}
							onClick={() => setForm(f)}
						>
							{NAMES[f]}
						</Button>
					))}
				</div>
			)}
			<Form data={data} form={form} />
		</div>
	)
}

function Form({ data, form }: { data: Rich; form: (typeof FORMS)[number] }) {
	switch (form) {
		case 'png':
		case 'jpeg':
			return (
				<img
					class="pic"
					src={`data:image/${form};base64,${data[form]!.replace(/\s/g, '')}`}
					alt={data.text ?? 'Picture that the cell made'}
				/>
			)
		case 'svg':
			return (
				<img
					class="pic"
					src={`data:image/svg+xml;charset=utf-8,${encodeURIComponent(data.svg!)}`}
					alt={data.text ?? 'Drawing that the cell made'}
				/>
			)
		case 'html':
			return <Frame html={data.html!} />
		case 'chart':
			return <Drawn chart={data.chart!} />
		case 'json':
			return (
				<div class="out" tabIndex={0}>
					{JSON.stringify(data.json, null, 2)}
				</div>
			)
		default:
			return (
				<div class="out" tabIndex={0}>
					{plain(String(data[form]))}
				</div>
			)
	}
}

const FRAME_MOST = 560

function Frame({ html }: { html: string }) {
	const ref = useRef<HTMLIFrameElement>(null)
	const [height, setHeight] = useState(40)
	useEffect(() => {
		const tell = () => ref.current?.contentWindow?.postMessage({ html, dark: theme.value === 'dark' }, '*')
		const hear = (e: MessageEvent) => {
			if (e.source !== ref.current?.contentWindow) return
			const { ready, height: tall } = (e.data ?? {}) as { ready?: boolean; height?: number }
			if (ready) tell()
			if (typeof tall === 'number') setHeight(Math.max(24, Math.min(FRAME_MOST, Math.ceil(tall))))
		}
		addEventListener('message', hear)
		tell()
		return () => removeEventListener('message', hear)
	}, [html, theme.value])
	return (
		<iframe
			ref={ref}
			class="frame"
			title="HTML that the cell made"
			sandbox="allow-scripts"
			src="/console/frame.html"
			style={{ height: `${height}px` }}
		/>
	)
}

function Drawn({ chart }: { chart: ChartData }) {
	const colors = [1, 2, 3, 4] as const
	const label = chart.title || [chart.y_label, chart.x_label].filter(Boolean).join(' over ') || 'Chart'
	if (chart.type === 'bar') {
		const times = chart.elements.map((_, i) => i)
		return (
			<Chart
				label={label}
				isTime={false}
				bars
				times={times}
				series={[
					{
						name: chart.y_label ?? 'value',
						values: chart.elements.map((e) => Number(e.value)),
						color: 1,
					},
				]}
				height={240}
			/>
		)
	}
	const xs = [...new Set(chart.elements.flatMap((e) => (e.points ?? []).map(([x]) => Number(x))))]
		.filter(Number.isFinite)
		.sort((a, b) => a - b)
	const series = chart.elements.slice(0, 4).map((e, i) => {
		const at = new Map((e.points ?? []).map(([x, y]) => [Number(x), Number(y)]))
		return {
			name: e.label || `series ${i + 1}`,
			values: xs.map((x) => at.get(x) ?? null),
			color: colors[i]!,
			points: chart.type === 'scatter',
		}
	})
	return (
		<Chart
			label={label}
			isTime={false}
			times={xs}
			series={series}
			height={240}
			format={(n) => String(+n.toPrecision(4))}
		/>
	)
}
