// SPDX-License-Identifier: Apache-2.0
// Who is logged in. The key itself is never kept: the server holds the session, the browser a cookie that no script reads.
import { computed, signal } from '@preact/signals'
import { ApiError, get, post, whenSessionEnds } from './api'

export type Session = {
	team: { id: string; name: string }
	role: 'viewer' | 'member' | 'admin'
	user?: string | null
	key: { id: string; name: string; prefix?: string } | null
	server: { version: string; domain: string | null; sandboxUrl: string | null; oidc?: boolean }
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

whenSessionEnds(() => {
	if (!session.value) return
	session.value = null
	ended.value = true
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
	await post('/console/api/logout').catch(() => {})
	session.value = null
	ended.value = false
	channel?.postMessage('out')
}

// A link that the server printed logs in once; it leaves the address at once.
export async function begin(): Promise<void> {
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
