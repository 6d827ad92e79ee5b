// SPDX-License-Identifier: Apache-2.0
// Line charts as SVG text: at most two scales, readable on light and dark pages, the same bytes for the same numbers.

const WIDTH = 760,
	HEIGHT = 340
const LEFT = 64,
	RIGHT = 24,
	TOP = 56,
	BOTTOM = 52
const COLOURS = 4

const STYLE = `
text { font: 12px system-ui, sans-serif; fill: #24292f }
.title { font-size: 14px; font-weight: 600 }
.grid { stroke: #d0d7de; stroke-width: 1 }
.axis { stroke: #57606a; stroke-width: 1 }
.line { fill: none; stroke-width: 2; stroke-linejoin: round }
.c0 { stroke: #0550ae } .c1 { stroke: #bc4c00 } .c2 { stroke: #1a7f37 } .c3 { stroke: #8250df }
circle.c0 { fill: #0550ae } circle.c1 { fill: #bc4c00 } circle.c2 { fill: #1a7f37 } circle.c3 { fill: #8250df }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.grid { stroke: #30363d }
.axis { stroke: #8b949e }
.c0 { stroke: #58a6ff } .c1 { stroke: #f0883e } .c2 { stroke: #3fb950 } .c3 { stroke: #bc8cff }
circle.c0 { fill: #58a6ff } circle.c1 { fill: #f0883e } circle.c2 { fill: #3fb950 } circle.c3 { fill: #bc8cff }
}`

const escape = (text) => String(text).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
const at = (x) => x.toFixed(1).replace(/\.0$/, '')

// 1, 2, 5, 10, … that divide 0..most into at most six parts.
function niceStep(most) {
	const power = 10 ** Math.floor(Math.log10(most / 6))
	return [1, 2, 5, 10].map((n) => n * power).find((step) => most / step <= 6)
}

function linearScale(values, from, to) {
	const most = Math.max(...values, 1e-9)
	const step = Math.max(niceStep(most), values.every(Number.isInteger) ? 1 : 0)
	const end = Math.ceil(most / step - 1e-9) * step
	const ticks = Array.from({ length: Math.round(end / step) + 1 }, (_, i) => Number((i * step).toPrecision(6)))
	return { ticks, place: (v) => from + (v / end) * (to - from) }
}

function logScale(values, from, to) {
	const low = Math.floor(Math.log10(Math.min(...values)) + 1e-9)
	const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values)) - 1e-9))
	const ticks = Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i))
	return { ticks, place: (v) => from + ((Math.log10(v) - low) / (high - low)) * (to - from) }
}

function axes(x, y, chart) {
	const bottom = HEIGHT - BOTTOM,
		right = WIDTH - RIGHT
	const out = []
	for (const tick of y.ticks) {
		const py = at(y.place(tick))
		out.push(`<line class="grid" x1="${LEFT}" y1="${py}" x2="${right}" y2="${py}"/>`)
		out.push(
			`<text x="${LEFT - 8}" y="${py}" dy="4" text-anchor="end">${escape(chart.y.text(tick))}</text>`,
		)
	}
	for (const tick of x.ticks) {
		const px = at(x.place(tick))
		out.push(`<line class="axis" x1="${px}" y1="${bottom}" x2="${px}" y2="${bottom + 5}"/>`)
		const text = escape(chart.x.text(tick))
		out.push(`<text x="${px}" y="${bottom + 20}" text-anchor="middle">${text}</text>`)
	}
	out.push(`<line class="axis" x1="${LEFT}" y1="${bottom}" x2="${right}" y2="${bottom}"/>`)
	const middle = at((LEFT + right) / 2)
	out.push(`<text x="${middle}" y="${HEIGHT - 10}" text-anchor="middle">${escape(chart.x.name)}</text>`)
	return out
}

function legend(lines) {
	let px = LEFT
	return lines.flatMap(({ name }, i) => {
		const x = px
		px += 44 + name.length * 6.8
		const c = `c${i % COLOURS}`
		return [
			`<line class="line ${c}" x1="${at(x)}" y1="40" x2="${at(x + 20)}" y2="40"/>`,
			`<text x="${at(x + 26)}" y="44">${escape(name)}</text>`,
		]
	})
}

function drawn({ points }, i, x, y) {
	const c = `c${i % COLOURS}`
	const placed = points.map(([px, py]) => [at(x.place(px)), at(y.place(py))])
	return [
		`<polyline class="line ${c}" points="${placed.map((p) => p.join(',')).join(' ')}"/>`,
		...placed.map(([px, py]) => `<circle class="${c}" cx="${px}" cy="${py}" r="3"/>`),
	]
}

// { title, x: { name, log, text }, y: { log, text }, lines: [{ name, points: [[x, y], …] }] }. The unit of y belongs
// into the title.
export function lineChart(chart) {
	const all = chart.lines.flatMap((line) => line.points)
	const scale = (log) => (log ? logScale : linearScale)
	const x = scale(chart.x.log)(
		all.map((p) => p[0]),
		LEFT,
		WIDTH - RIGHT - 12,
	)
	const y = scale(chart.y.log)(
		all.map((p) => p[1]),
		HEIGHT - BOTTOM,
		TOP + 6,
	)
	return [
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img">`,
		`<title>${escape(chart.title)}</title>`,
		`<style>${STYLE}\n</style>`,
		`<text class="title" x="${LEFT}" y="20">${escape(chart.title)}</text>`,
		...legend(chart.lines),
		...axes(x, y, chart),
		...chart.lines.flatMap((line, i) => drawn(line, i, x, y)),
		'</svg>',
		'',
	].join('\n')
}
