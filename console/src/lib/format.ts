// SPDX-License-Identifier: Apache-2.0
// Numbers, sizes and times for people.
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB']

export function bytes(n: number | null | undefined): string {
	if (n === null || n === undefined || !Number.isFinite(n)) return '–'
	let unit = 0
	while (n >= 1000 && unit < UNITS.length - 1) {
		n /= 1024
		unit++
	}
	return `${unit === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${UNITS[unit]}`
}

export const mib = (n: number | null | undefined): string => bytes(n === null || n === undefined ? n : n * 2 ** 20)

export function seconds(s: number): string {
	if (!Number.isFinite(s)) return '–'
	if (s < 0.001) return `${Math.round(s * 1e6)} µs`
	if (s < 1) return `${+(s * 1000).toFixed(s < 0.01 ? 1 : 0)} ms`
	if (s < 60) return `${+s.toFixed(s < 10 ? 1 : 0)} s`
	if (s < 3600) return `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s`
	if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`
	return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`
}

// "3 min ago", "in 2 h"; a clock that is off by a little says "now".
export function ago(time: string | number | Date | null | undefined, now = Date.now()): string {
	if (!time) return '–'
	const s = (now - new Date(time).getTime()) / 1000
	if (!Number.isFinite(s)) return '–'
	if (Math.abs(s) < 5) return 'now'
	const text = coarse(Math.abs(s))
	return s > 0 ? `${text} ago` : `in ${text}`
}

export function coarse(s: number): string {
	if (s < 60) return `${Math.round(s)} s`
	if (s < 3600) return `${Math.round(s / 60)} min`
	if (s < 86400) return `${Math.round(s / 3600)} h`
	return `${Math.round(s / 86400)} d`
}

const two = (n: number): string => String(n).padStart(2, '0')

export function stamp(time: string | number | Date | null | undefined): string {
	if (!time) return '–'
	const d = new Date(time)
	if (!Number.isFinite(d.getTime())) return '–'
	return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${clock(d)}`
}

export function clock(time: string | number | Date): string {
	const d = new Date(time)
	return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`
}

export const count = (n: number | null | undefined): string =>
	n === null || n === undefined ? '–' : n.toLocaleString('en-US', { maximumFractionDigits: 2 })
export const percent = (n: number): string => `${n < 10 ? +n.toFixed(1) : Math.round(n)} %`
export const plural = (n: number, word: string): string =>
	`${count(n)} ${n === 1 ? word : word.endsWith('x') ? `${word}es` : `${word}s`}`

// Names come from programs that nobody trusts: what cannot be seen is shown as a symbol.
export function visible(text: string): string {
	return text
		.replace(/[\u0000-\u001f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
		.replace(/[\u007f\u0080-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, '\ufffd')
}
