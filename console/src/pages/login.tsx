// SPDX-License-Identifier: Apache-2.0
// Log in with an API key. The key goes to the server once and is not kept by the page.
import { useEffect, useState } from 'preact/hooks'
import { ApiError, messageFrom, online } from '../lib/api'
import { ended, linkFailed, login, oidcFailed, oidcLogin, ways } from '../lib/session'
import { visible } from '../lib/format'
import { Button, Field, Snippet } from '../ui/kit'
import { Logo } from '../ui/icons'

export function Login() {
	const [key, setKey] = useState('')
	const [error, setError] = useState<string | null>(null)
	const [busy, setBusy] = useState(false)
	const [provider, setProvider] = useState<string | null>(null)
	useEffect(
		() =>
			void ways().then(
				(w) => setProvider(w.oidc?.name ?? null),
				() => {},
			),
		[],
	)
	const viaProvider = async () => {
		setBusy(true)
		oidcFailed.value = null
		try {
			await oidcLogin()
		} catch (err) {
			oidcFailed.value = messageFrom(err)
			setBusy(false)
		}
	}
	const submit = async (e: Event) => {
		e.preventDefault()
		setBusy(true)
		setError(null)
		try {
			await login({ apiKey: key.trim() })
		} catch (err) {
			const wrong = err instanceof ApiError && err.status === 401
			setError(wrong ? 'The server does not know this key.' : messageFrom(err))
		}
		setKey('')
		setBusy(false)
	}
	return (
		<main class="door">
			<div class="card">
				<form class="body" onSubmit={submit}>
					<span class="brand">
						<Logo size={30} /> atoll
					</span>
					<div>
						<h1>Log in</h1>
						<p class="muted">
							With an API key of your team. It is exchanged for a session and
							not kept.
						</p>
					</div>
					{ended.value && (
						<div class="notice" role="status">
							Your session has ended. Log in to go on where you were.
						</div>
					)}
					{linkFailed.value && (
						<div class="notice warn" role="status">
							The log-in link was used before or is too old. Each link works
							once.
						</div>
					)}
					{oidcFailed.value && (
						<div class="notice warn" role="alert">
							{visible(oidcFailed.value)}
						</div>
					)}
					{!online.value && (
						<div class="notice warn" role="status">
							The server cannot be reached.
						</div>
					)}
					<Field label="API key" error={error}>
						{(id) => (
							<input
								id={id}
								class="input mono"
								type="password"
								autocomplete="off"
								spellcheck={false}
								placeholder="e2b_…"
								required
								autoFocus
								aria-invalid={!!error}
								value={key}
								onInput={(e) => setKey(e.currentTarget.value)}
							/>
						)}
					</Field>
					<Button type="submit" kind="primary" disabled={busy || !key.trim()}>
						{busy && <span class="spin" />} Log in
					</Button>
					{provider && (
						<Button disabled={busy} onClick={() => void viaProvider()}>
							Log in with {visible(provider)}
						</Button>
					)}
					<div class="stack tight small muted">
						<span>The server's own keys, on its machine:</span>
						<Snippet text="sudo atoll env" />
					</div>
				</form>
			</div>
		</main>
	)
}
