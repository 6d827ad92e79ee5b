// SPDX-License-Identifier: Apache-2.0
// Reads the server's metrics: sums of counters and quantiles of histograms.
export type Samples = { name: string; labels: Record<string, string>; value: number }[]

export function parse(text: string): Samples {
	const found: Samples = []
	for (const line of text.split('\n')) {
		const m = /^(\w+)(?:\{(.*)\})? (\S+)/.exec(line)
		if (!m) continue
		const labels: Record<string, string> = {}
		for (const pair of (m[2] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[pair[1]!] = pair[2]!
		found.push({ name: m[1]!, labels, value: Number(m[3]) })
	}
	return found
}

export const sum = (all: Samples, name: string, labels: Record<string, string> = {}): number =>
	all
		.filter(
			(s) =>
				s.name === name &&
				Object.entries(labels).every(([key, value]) => s.labels[key] === value),
		)
		.reduce((total, s) => total + s.value, 0)

// Within the bucket that the quantile falls into, evenly spread.
export function quantile(all: Samples, name: string, q: number): number | null {
	const buckets = new Map<number, number>()
	for (const s of all)
		if (s.name === `${name}_bucket`) {
			const le = s.labels.le === '+Inf' ? Infinity : Number(s.labels.le)
			buckets.set(le, (buckets.get(le) ?? 0) + s.value)
		}
	const sorted = [...buckets].sort((a, b) => a[0] - b[0])
	const total = sorted[sorted.length - 1]?.[1] ?? 0
	if (total === 0) return null
	let low = 0,
		under = 0
	for (const [le, n] of sorted) {
		if (n >= q * total)
			return le === Infinity ? low : low + ((le - low) * (q * total - under)) / Math.max(1, n - under)
		low = le
		under = n
	}
	return low
}
