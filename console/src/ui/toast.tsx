// SPDX-License-Identifier: Apache-2.0
// Short messages at the edge of the page; a screen reader reads them out.
import { signal } from '@preact/signals'
import { visible } from '../lib/format'
import { messageFrom } from '../lib/api'
import { Button } from './kit'

type Tone = 'ok' | 'bad' | ''
const toasts = signal<{ id: number; text: string; tone: Tone }[]>([])
let last = 0
const SHOWN_MS = 6000,
	MOST = 4

export function toast(text: string, tone: Tone = ''): void {
	const id = ++last
	toasts.value = [...toasts.value, { id, text, tone }].slice(-MOST)
	setTimeout(() => drop(id), tone === 'bad' ? 2 * SHOWN_MS : SHOWN_MS)
}

const drop = (id: number) => (toasts.value = toasts.value.filter((t) => t.id !== id))

// Does it; a failure is told. Returns whether it went well.
export async function attempt(work: () => Promise<unknown>, done?: string): Promise<boolean> {
	try {
		await work()
		if (done) toast(done, 'ok')
		return true
	} catch (err) {
		toast(messageFrom(err), 'bad')
		return false
	}
}

export function Toasts() {
	return (
		<div class="toasts" role="status" aria-live="polite">
			{toasts.value.map((t) => (
				<div class={`toast ${t.tone}`} key={t.id}>
					<span class="grow">{visible(t.text)}</span>
					<Button
						icon="close"
						small
						kind="quiet"
						label="Dismiss"
						onClick={() => drop(t.id)}
					/>
				</div>
			))}
		</div>
	)
}
