// SPDX-License-Identifier: Apache-2.0
// The official SDK, pointed at this server: terminals, files, commands and code of a sandbox. It is fetched when a page
// needs it. Requests into a sandbox carry the sandbox's own token; the API key stays out of the page.
import type { Sandbox as SdkSandbox } from '@e2b/code-interpreter'
import { HEADERS } from './api'
import type { Sandbox } from './types'

export type Sdk = SdkSandbox
export type { EntryInfo } from 'e2b'
export type { Context, Execution, Result, ExecutionError } from '@e2b/code-interpreter'

const NO_KEY = `e2b_${'0'.repeat(40)}`
const open = new Map<string, Promise<Sdk>>()

export function sdkOf(s: Sandbox): Promise<Sdk> {
	const key = `${s.sandboxID} ${s.envdAccessToken ?? ''}`
	let made = open.get(key)
	if (!made) {
		made = import('@e2b/code-interpreter').then(({ Sandbox: Class }) => {
			// made from what the API has told: connect() would resume a paused sandbox
			const Open = Class as unknown as new (opts: Record<string, unknown>) => Sdk
			return new Open({
				sandboxId: s.sandboxID,
				envdVersion: s.envdVersion,
				envdAccessToken: s.envdAccessToken ?? undefined,
				trafficAccessToken: s.trafficAccessToken ?? undefined,
				apiUrl: location.origin,
				sandboxUrl: location.origin,
				apiKey: NO_KEY,
				validateApiKey: false,
				headers: HEADERS,
			})
		})
		made.catch(() => open.delete(key))
		open.set(key, made)
	}
	return made
}

// The headers that lead a plain request to a port of the sandbox.
export function routeTo(s: Sandbox, port = 49983): Record<string, string> {
	return {
		'E2b-Sandbox-Id': s.sandboxID,
		'E2b-Sandbox-Port': String(port),
		...(s.envdAccessToken ? { 'X-Access-Token': s.envdAccessToken } : {}),
		...(s.trafficAccessToken ? { 'E2B-Traffic-Access-Token': s.trafficAccessToken } : {}),
	}
}
