// SPDX-License-Identifier: Apache-2.0
// Who is logged in. The key itself is never kept: the server holds the session, the browser a cookie that no script reads.
import { computed, signal } from '@preact/signals'
import { ApiError, get, messageFrom, post, whenSessionEnds } from './api'
import { BASE, replace } from './router'

export type Session = {
	team: { id: string; name: string }
	role: 'viewer' | 'member' | 'admin'
	user?: string | null
	key: { id: string; name: string; prefix?: string } | null
	server: { version: string; domain: string | null; sandboxUrl: string | null }
	expiresAt: string
	idleSeconds: number
}

// undefined: not asked yet; null: nobody
export const session = signal<Session | null | undefined>(undefined)
export const ended = signal(false)
export const isAdmin = computed(() => session.value?.role === 'admin')
export const mayAct = computed(() => !!session.value && session.value.role !== 'viewer')

const CHANNEL = 'atoll-session'
const channel = 'BroadcastChannel' in window ? new BroadcastChannel(CHANNEL) : null

// A refusal may be of the session that another tab has just replaced.
whenSessionEnds(async () => {
	if (!session.value) return
	await load()
	if (!session.value) ended.value = true
})

// Another tab logged in or out.
if (channel) channel.onmessage = () => void load()

async function load(): Promise<void> {
	try {
		session.value = await get<Session>('/console/api/session')
	} catch (err) {
		if (err instanceof ApiError && err.status === 0) {
			session.value ??= null
			return
		}
		session.value = null
	}
}

export async function login(body: { apiKey: string } | { link: string }): Promise<void> {
	await post('/console/api/login', body)
	await load()
	ended.value = false
	channel?.postMessage('in')
}

export async function logout(): Promise<void> {
	const said = await post<{ url?: string | null }>('/console/api/logout').catch(() => null)
	session.value = null
	ended.value = false
	channel?.postMessage('out')
	if (said?.url) leave(said.url) // the provider's session ends, too
}

// --- users of an OpenID provider ---

const KEPT = 'atoll-oidc' // in this tab only, between the two halves of a log-in
export type Ways = { apiKey: boolean; oidc: { name: string } | null }
export const oidcFailed = signal<string | null>(null)

function leave(url: string): void {
	if (/^https?:/.test(url)) location.assign(url)
}

export const ways = (): Promise<Ways> => get<Ways>('/console/api/login')

// Goes to the provider. It sends the browser back to the page /console/oidc.
export async function oidcLogin(): Promise<void> {
	const here = location.pathname === OIDC_PAGE ? `${BASE}/` : location.pathname + location.search
	const begun = await post<{ url: string; state: string; ticket: string }>('/console/api/oidc/begin')
	sessionStorage.setItem(KEPT, JSON.stringify({ state: begun.state, ticket: begun.ticket, here }))
	leave(begun.url)
}

const OIDC_PAGE = `${BASE}/oidc`

// What the provider said when it refused, for people.
function refusal(query: URLSearchParams): string {
	const error = query.get('error')!
	if (error === 'access_denied') return 'The log-in was cancelled.'
	return `The provider refused the log-in: ${query.get('error_description') ?? error}`
}

// The page that the provider sends the browser to. Its address, with the code, leaves the history at once.
async function oidcReturn(): Promise<void> {
	const query = new URLSearchParams(location.search)
	const text = sessionStorage.getItem(KEPT)
	sessionStorage.removeItem(KEPT)
	const kept = text ? (JSON.parse(text) as { state: string; ticket: string; here: string }) : null
	replace(kept?.here ?? `${BASE}/`)
	if (query.has('again')) return await oidcLogin()
	if (!query.has('code') && !query.has('error')) return
	// nobody else can begin a log-in in this tab, or end one that was not begun here
	if (!kept || query.get('state') !== kept.state)
		throw new Error('This log-in was not begun in this tab. Begin again.')
	if (query.has('error')) throw new Error(refusal(query))
	await post('/console/api/oidc/finish', {
		ticket: kept.ticket,
		state: kept.state,
		code: query.get('code'),
		iss: query.get('iss'),
	})
	ended.value = false
	channel?.postMessage('in')
}

// A link that the server printed logs in once; it leaves the address at once.
export async function begin(): Promise<void> {
	if (location.pathname === OIDC_PAGE)
		await oidcReturn().catch((err: unknown) => (oidcFailed.value = messageFrom(err)))
	const code = /^#login=([\w-]+)$/.exec(location.hash)?.[1]
	if (code) {
		history.replaceState(null, '', location.pathname + location.search)
		try {
			await login({ link: code })
			return
		} catch {
			linkFailed.value = true
		}
	}
	await load()
}
export const linkFailed = signal(false)
