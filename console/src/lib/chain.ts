// SPDX-License-Identifier: Apache-2.0
// Checks records of the audit trail in the page: each hash over the bytes of its line, and the chain from one to the next.
import type { AuditRecord } from './types'

export type Verdict = {
	checked: number
	links: number
	wrong: { seq: number; why: string }[]
	first?: number
	last?: number
	head?: string
}

async function sha256(text: string): Promise<string> {
	const sum = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
	return [...new Uint8Array(sum)].map((b) => b.toString(16).padStart(2, '0')).join('')
}

// lines: as the server sent them, oldest first. Neighbours are compared where both are there.
export async function verify(
	lines: string[],
	sofar: Verdict = { checked: 0, links: 0, wrong: [] },
	before?: AuditRecord,
): Promise<{ verdict: Verdict; last?: AuditRecord }> {
	const verdict = { ...sofar, wrong: [...sofar.wrong] }
	let last = before
	for (const line of lines) {
		const record = JSON.parse(line) as AuditRecord
		const at = line.lastIndexOf(',"hash":"')
		if ((await sha256(line.slice(0, at))) !== record.hash)
			verdict.wrong.push({ seq: record.seq, why: 'its hash does not fit its content' })
		if (last && record.seq === last.seq + 1) {
			verdict.links++
			if (record.prev !== last.hash)
				verdict.wrong.push({
					seq: record.seq,
					why: 'it does not continue the record before it',
				})
		}
		verdict.checked++
		verdict.first ??= record.seq
		verdict.last = record.seq
		verdict.head = `${record.seq}:${record.hash}`
		last = record
	}
	return { verdict, last }
}
