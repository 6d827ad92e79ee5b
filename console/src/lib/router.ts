// SPDX-License-Identifier: Apache-2.0
// The address of the page: /console/...; links are ordinary links, so they can be shared and opened in another tab.
import { signal } from '@preact/signals'

export const BASE = '/console'

function read(): { path: string; query: URLSearchParams } {
	const path = location.pathname.startsWith(BASE) ? location.pathname.slice(BASE.length) : location.pathname
	return { path: path.replace(/\/+$/, '') || '/', query: new URLSearchParams(location.search) }
}

export const place = signal(read())

export const href = (path: string): string => BASE + path

export function go(path: string, { replace = false } = {}): void {
	const to = href(path)
	if (to === location.pathname + location.search) return
	history[replace ? 'replaceState' : 'pushState'](null, '', to)
	place.value = read()
	if (!replace) window.scrollTo(0, 0)
}

// Another address for the same entry of the history.
export function replace(to: string): void {
	history.replaceState(null, '', to)
	place.value = read()
}

// Sets words of the query in place: filters are part of the link.
export function setQuery(words: Record<string, string>): void {
	const query = new URLSearchParams(location.search)
	for (const [key, value] of Object.entries(words)) {
		if (value) query.set(key, value)
		else query.delete(key)
	}
	const text = query.toString()
	history.replaceState(null, '', location.pathname + (text ? `?${text}` : ''))
	place.value = read()
}

addEventListener('popstate', () => (place.value = read()))

document.addEventListener('click', (event) => {
	if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return
	const link = (event.target as Element | null)?.closest?.('a')
	if (!link || link.target || link.download || link.origin !== location.origin) return
	if (!link.pathname.startsWith(`${BASE}/`) || /\.\w+$/.test(link.pathname)) return
	event.preventDefault()
	go(link.pathname.slice(BASE.length) + link.search)
})
