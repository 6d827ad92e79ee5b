// SPDX-License-Identifier: Apache-2.0
// Data that a page shows: asked for once, or again and again while the page is in view.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { signal } from '@preact/signals'
import { ApiError, healthy, online } from './api'

export type Loaded<T> = {
	data: T | undefined
	error: ApiError | Error | null
	loading: boolean
	refresh: () => Promise<void>
	set: (data: T) => void
}

// every: milliseconds between two questions; 0 asks once. A question that is still open is not asked again.
export function useData<T>(ask: (signal: AbortSignal) => Promise<T>, every: number, deps: unknown[]): Loaded<T> {
	const [state, setState] = useState<{ data?: T; error: Error | null; loading: boolean }>({
		error: null,
		loading: true,
	})
	const latest = useRef(ask)
	latest.current = ask
	const run = useRef<() => Promise<void>>(async () => {})

	useEffect(() => {
		let over = false,
			timer = 0,
			busy = false
		const abort = new AbortController()
		setState((old) => ({ ...old, error: null, loading: true }))
		const once = async () => {
			if (busy) return
			busy = true
			try {
				const data = await latest.current(abort.signal)
				if (!over) setState({ data, error: null, loading: false })
			} catch (err) {
				if (over || (err as Error).name === 'AbortError') return
				setState((old) => ({ ...old, error: err as Error, loading: false }))
			} finally {
				busy = false
			}
		}
		const loop = async () => {
			if (!document.hidden && online.value) await once()
			if (!over && every > 0) timer = window.setTimeout(loop, every)
		}
		run.current = once
		void once().then(() => {
			if (!over && every > 0) timer = window.setTimeout(loop, every)
		})
		const back = () => void (!document.hidden && every > 0 && once())
		document.addEventListener('visibilitychange', back)
		const stop = online.subscribe((is) => void (is && state.error && once()))
		return () => {
			over = true
			abort.abort()
			clearTimeout(timer)
			stop()
			document.removeEventListener('visibilitychange', back)
		}
	}, deps)

	const refresh = useCallback(() => run.current(), [])
	const set = useCallback((data: T) => setState({ data, error: null, loading: false }), [])
	return { data: state.data, error: state.error, loading: state.loading, refresh, set }
}

// The time now, for "3 s ago": one timer for all who look at it.
export const now = signal(Date.now())
setInterval(() => {
	if (!document.hidden) now.value = Date.now()
}, 1000)

// While the server cannot be reached: asks until it answers.
online.subscribe((is) => {
	if (is) return
	const again = async () => {
		if (!(await healthy())) setTimeout(again, 1000)
	}
	setTimeout(again, 700)
})

export function useKey(match: (event: KeyboardEvent) => boolean, act: () => void): void {
	useEffect(() => {
		const on = (event: KeyboardEvent) => {
			if (!match(event)) return
			event.preventDefault()
			act()
		}
		document.addEventListener('keydown', on)
		return () => document.removeEventListener('keydown', on)
	})
}
