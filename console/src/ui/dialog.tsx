// SPDX-License-Identifier: Apache-2.0
// Dialogs: the browser's own, so that focus and Escape work as everywhere.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { signal } from '@preact/signals'
import { messageFrom } from '../lib/api'
import { Button } from './kit'

export function Dialog({
	title,
	close,
	children,
	wide,
	className = '',
}: {
	title: string
	close: () => void
	children: ComponentChildren
	wide?: boolean
	className?: string
}) {
	const ref = useRef<HTMLDialogElement>(null)
	useEffect(() => {
		const before = document.activeElement as HTMLElement | null
		ref.current?.showModal()
		return () => before?.focus?.()
	}, [])
	return (
		<dialog
			ref={ref}
			class={`${wide ? 'wide' : ''} ${className}`}
			aria-label={title}
			onCancel={(e) => {
				e.preventDefault()
				close()
			}}
			onMouseDown={(e) => e.target === ref.current && close()}
		>
			{children}
		</dialog>
	)
}

// A form in a dialog: what fails is shown in it, and it stays open.
export function FormDialog({
	title,
	close,
	submit,
	action,
	danger,
	children,
	wide,
	ready = true,
}: {
	title: string
	close: () => void
	submit: () => Promise<unknown>
	action: string
	danger?: boolean
	children: ComponentChildren
	wide?: boolean
	ready?: boolean
}) {
	const [error, setError] = useState<string | null>(null)
	const [busy, setBusy] = useState(false)
	const onSubmit = async (e: Event) => {
		e.preventDefault()
		if (busy || !ready) return
		setBusy(true)
		setError(null)
		try {
			await submit()
			close()
		} catch (err) {
			setError(messageFrom(err))
			setBusy(false)
		}
	}
	return (
		<Dialog title={title} close={close} wide={wide}>
			<form onSubmit={onSubmit}>
				<h2>{title}</h2>
				{children}
				{error && (
					<div class="notice bad" role="alert">
						{error}
					</div>
				)}
				<footer>
					<Button onClick={close}>Cancel</Button>
					<Button
						type="submit"
						kind={danger ? 'solid danger' : 'primary'}
						disabled={busy || !ready}
					>
						{busy && <span class="spin" />}
						{action}
					</Button>
				</footer>
			</form>
		</Dialog>
	)
}

type Question = {
	title: string
	text: ComponentChildren
	action: string
	act: () => Promise<unknown>
	danger?: boolean
}
const question = signal<Question | null>(null)

// Asks before something that cannot be undone.
export function confirm(q: Question): void {
	question.value = q
}

export function Confirm() {
	const q = question.value
	if (!q) return null
	return (
		<FormDialog
			title={q.title}
			close={() => (question.value = null)}
			submit={q.act}
			action={q.action}
			danger={q.danger ?? true}
		>
			<p class="muted">{q.text}</p>
		</FormDialog>
	)
}
