// SPDX-License-Identifier: Apache-2.0
// Charts over time, drawn by uPlot, which is fetched when the first chart is shown.
import type uPlot from 'uplot'
import { useEffect, useRef } from 'preact/hooks'
import { clock, stamp } from '../lib/format'
import { theme } from './theme'

export type Series = { name: string; values: (number | null)[]; color: 1 | 2 | 3 | 4; fill?: boolean; points?: boolean }
export type Mark = { at: number; name: string }

const colorOf = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

const DAY_S = 86400

// 14:05, with seconds or as a date where that is what differs.
function clockTicks(u: uPlot, ticks: number[]): string[] {
	const range = (u.scales.x!.max ?? 0) - (u.scales.x!.min ?? 0)
	return ticks.map((t) =>
		range > 2 * DAY_S ? stamp(t * 1000).slice(5, 10) : clock(t * 1000).slice(0, range < 600 ? 8 : 5),
	)
}

function drawMarks(marks: Mark[]) {
	return (u: uPlot) => {
		const { ctx, bbox } = u
		ctx.save()
		ctx.font = `${11 * devicePixelRatio}px sans-serif`
		for (const mark of marks) {
			const x = Math.round(u.valToPos(mark.at, 'x', true))
			if (x < bbox.left || x > bbox.left + bbox.width) continue
			ctx.strokeStyle = ctx.fillStyle = colorOf('--warn')
			ctx.setLineDash([4, 4])
			ctx.beginPath()
			ctx.moveTo(x, bbox.top)
			ctx.lineTo(x, bbox.top + bbox.height)
			ctx.stroke()
			ctx.fillText(mark.name, x + 4 * devicePixelRatio, bbox.top + 10 * devicePixelRatio)
		}
		ctx.restore()
	}
}

export function Chart({
	label,
	times,
	series,
	format = String,
	marks = [],
	height = 170,
	most,
	isTime = true,
	bars,
}: {
	label: string
	times: number[]
	series: Series[]
	format?: (n: number) => string
	marks?: Mark[]
	height?: number
	most?: number
	isTime?: boolean
	bars?: boolean
}) {
	const ref = useRef<HTMLDivElement>(null)
	const plot = useRef<uPlot | null>(null)
	const data = () => [times, ...series.map((s) => s.values)] as uPlot.AlignedData
	const shape = `${label}${theme.value}${series.map((s) => s.name).join()}${marks.map((m) => m.at).join()}${most}`

	useEffect(() => {
		let over = false
		let size: ResizeObserver | undefined
		void import('uplot').then(({ default: UPlot }) => {
			const el = ref.current
			if (over || !el) return
			const axis = {
				stroke: colorOf('--muted'),
				grid: { stroke: colorOf('--line'), width: 1 },
				ticks: { show: false },
				font: '11px sans-serif',
			}
			plot.current = new UPlot(
				{
					width: Math.max(200, el.clientWidth),
					height,
					legend: { show: false },
					cursor: { y: false, points: { size: 6 } },
					scales: {
						x: { time: isTime },
						y: {
							range: (_u, low, top) => [
								isTime || bars ? 0 : (low ?? 0),
								Math.max(most ?? 0, (top ?? 0) * 1.1) || 1,
							],
						},
					},
					axes: [
						isTime ? { ...axis, values: clockTicks } : axis,
						{
							...axis,
							size: 66,
							values: (_u, ticks) =>
								ticks.map((n) => (n === null ? '' : format(n))),
						},
					],
					series: [
						{},
						...series.map((s) => ({
							label: s.name,
							stroke: colorOf(`--c${s.color}`),
							width: s.points ? 0 : 1.6,
							fill:
								s.fill || bars
									? `${colorOf(`--c${s.color}`)}26`
									: undefined,
							points: {
								show: !!s.points,
								size: 6,
								fill: colorOf(`--c${s.color}`),
							},
							...(bars
								? { paths: UPlot.paths.bars!({ size: [0.7, 60] }) }
								: {}),
						})),
					],
					hooks: { draw: [drawMarks(marks)] },
				},
				data(),
				el,
			)
			size = new ResizeObserver(() =>
				plot.current?.setSize({ width: Math.max(200, el.clientWidth), height }),
			)
			size.observe(el)
		})
		return () => {
			over = true
			size?.disconnect()
			plot.current?.destroy()
			plot.current = null
		}
	}, [shape])
	useEffect(() => plot.current?.setData(data()), [times, series])

	const newest = (s: Series) => [...s.values].reverse().find((v) => v !== null)
	return (
		<figure class="chart">
			<figcaption class="row wrap">
				<h3 class="grow">{label}</h3>
				<span class="legend">
					{series.map((s) => (
						<span key={s.name}>
							<i class={`swatch${s.color}`} />
							{s.name}{' '}
							{isTime && newest(s) !== undefined && (
								<b class="num">{format(newest(s)!)}</b>
							)}
						</span>
					))}
				</span>
			</figcaption>
			<div
				ref={ref}
				role="img"
				aria-label={`Chart of ${label}`}
				style={{ minHeight: `${height}px` }}
			/>
		</figure>
	)
}
