// SPDX-License-Identifier: Apache-2.0
// Calls of the server's API with the session's cookie, and what a failure means.
import { signal } from '@preact/signals'

export class ApiError extends Error {
	constructor(
		readonly status: number,
		message: string,
	) {
		super(message)
	}
}

// A page of another origin cannot set this header, so it cannot use the cookie.
export const HEADERS = { 'X-Atoll-Console': '1' }

// A page that nobody touches keeps showing what is new, but does not keep the session alive.
const TOUCHED_MS = 60000
let touched = Date.now()
for (const kind of ['pointerdown', 'keydown', 'wheel', 'touchstart'])
	addEventListener(kind, () => (touched = Date.now()), { capture: true, passive: true })

export const online = signal(true)
let onEnded = () => {}

export function whenSessionEnds(then: () => void): void {
	onEnded = then
}

type Query = Record<string, string | number | boolean | undefined | null>

export function withQuery(path: string, query?: Query): string {
	const words = new URLSearchParams()
	for (const [key, value] of Object.entries(query ?? {}))
		if (value !== undefined && value !== null && value !== '') words.set(key, String(value))
	const text = words.toString()
	return text ? `${path}?${text}` : path
}

async function messageOf(res: Response): Promise<string> {
	const text = await res.text().catch(() => '')
	try {
		const said = JSON.parse(text) as { message?: string }
		if (said.message) return said.message
	} catch {
		// not JSON
	}
	return text.slice(0, 300) || `the server answered ${res.status}`
}

export type Options = { query?: Query; signal?: AbortSignal; headers?: Record<string, string> }

export async function send(method: string, path: string, body?: unknown, opt: Options = {}): Promise<Response> {
	const poll = method === 'GET' && Date.now() - touched > TOUCHED_MS
	const headers: Record<string, string> = {
		...HEADERS,
		...(poll && { 'X-Atoll-Console': 'poll' }),
		...opt.headers,
	}
	if (body !== undefined) headers['Content-Type'] = 'application/json'
	let res: Response
	try {
		res = await fetch(withQuery(path, opt.query), {
			method,
			headers,
			body: body === undefined ? undefined : JSON.stringify(body),
			signal: opt.signal,
			credentials: 'same-origin',
			cache: 'no-store',
		})
	} catch (err) {
		if ((err as Error).name === 'AbortError') throw err
		online.value = false
		throw new ApiError(0, 'The server cannot be reached.')
	}
	online.value = true
	if (res.ok) return res
	const message = await messageOf(res)
	if (res.status === 401 && !path.startsWith('/console/api/')) onEnded()
	throw new ApiError(res.status, message)
}

async function json<T>(res: Response): Promise<T> {
	const text = await res.text()
	return (text ? JSON.parse(text) : undefined) as T
}

export const get = async <T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> =>
	json<T>(await send('GET', path, undefined, { query, signal }))
export const post = async <T = void>(path: string, body: unknown = {}, opt?: Options): Promise<T> =>
	json<T>(await send('POST', path, body, opt))
export const patch = async <T = void>(path: string, body: unknown): Promise<T> =>
	json<T>(await send('PATCH', path, body))
export const put = async <T = void>(path: string, body: unknown): Promise<T> => json<T>(await send('PUT', path, body))
export const del = async (path: string, body?: unknown): Promise<void> => void (await send('DELETE', path, body))

// All pages of a list.
export async function all<T>(path: string, query: Query = {}, signal?: AbortSignal, most = 20000): Promise<T[]> {
	const rows: T[] = []
	let nextToken: string | undefined
	do {
		const res = await send('GET', path, undefined, { query: { ...query, nextToken }, signal })
		rows.push(...(await json<T[]>(res)))
		nextToken = res.headers.get('x-next-token') || undefined
	} while (nextToken && rows.length < most)
	return rows
}

export async function healthy(): Promise<boolean> {
	try {
		const res = await fetch('/health', { cache: 'no-store' })
		online.value = true
		return res.ok
	} catch {
		online.value = false
		return false
	}
}

export const messageFrom = (err: unknown): string => (err instanceof Error ? err.message : String(err))
