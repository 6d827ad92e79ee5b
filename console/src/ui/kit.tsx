// SPDX-License-Identifier: Apache-2.0
// Small parts that all pages are made of.
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { now } from '../lib/hooks'
import { ago, stamp, visible } from '../lib/format'
import { href } from '../lib/router'
import { Icon, type IconName } from './icons'
import { toast } from './toast'

export function Button({
	icon,
	kind = '',
	small,
	label,
	children,
	...rest
}: {
	icon?: IconName
	kind?: string
	small?: boolean
	label?: string
	children?: ComponentChildren
} & Omit<JSX.ButtonHTMLAttributes<HTMLButtonElement>, 'icon' | 'label'>) {
	const only = !children
	return (
		<button
			type="button"
			{...rest}
			class={`btn ${kind} ${only ? 'icon' : ''} ${small ? 'smaller' : ''}`}
			aria-label={label}
			title={label}
		>
			{icon && <Icon name={icon} />}
			{children}
		</button>
	)
}

export function LinkButton({
	to,
	icon,
	children,
	kind = '',
}: {
	to: string
	icon?: IconName
	children: ComponentChildren
	kind?: string
}) {
	return (
		<a class={`btn ${kind}`} href={href(to)}>
			{icon && <Icon name={icon} />}
			{children}
		</a>
	)
}

export const Link = ({
	to,
	children,
	...rest
}: { to: string; children: ComponentChildren } & JSX.AnchorHTMLAttributes<HTMLAnchorElement>) => (
	<a href={href(to)} {...rest}>
		{children}
	</a>
)

export function Head({
	title,
	text,
	children,
}: {
	title: ComponentChildren
	text?: ComponentChildren
	children?: ComponentChildren
}) {
	return (
		<div class="head">
			<div class="grow">
				<h1>{title}</h1>
				{text && <p>{text}</p>}
			</div>
			{children && <div class="tools">{children}</div>}
		</div>
	)
}

export function Card({
	title,
	tools,
	children,
	plain,
}: {
	title?: ComponentChildren
	tools?: ComponentChildren
	children?: ComponentChildren
	plain?: boolean
}) {
	return (
		<section class="card">
			{title && (
				<header>
					<h2>{title}</h2>
					{tools}
				</header>
			)}
			{plain ? children : <div class="body">{children}</div>}
		</section>
	)
}

export function Tile({
	name,
	value,
	unit,
	children,
}: {
	name: string
	value: ComponentChildren
	unit?: string
	children?: ComponentChildren
}) {
	return (
		<div class="card tile">
			<span class="name">{name}</span>
			<span class="value">
				{value} {unit && <small>{unit}</small>}
			</span>
			{children}
		</div>
	)
}

// good: full is what it should be
export function Bar({ part, label, good }: { part: number; label: string; good?: boolean }) {
	const at = Math.max(0, Math.min(1, Number.isFinite(part) ? part : 0))
	return (
		<span
			class={`bar ${good ? '' : at > 0.95 ? 'bad' : at > 0.8 ? 'warn' : ''}`}
			role="meter"
			aria-label={label}
			aria-valuemin={0}
			aria-valuemax={100}
			aria-valuenow={Math.round(at * 100)}
		>
			<i style={{ width: `${at * 100}%` }} />
		</span>
	)
}

const TONES: Record<string, string> = {
	running: 'ok',
	ready: 'ok',
	ok: 'ok',
	active: 'ok',
	paused: 'info',
	building: 'info',
	waiting: 'warn',
	starting: 'info',
	error: 'bad',
	failed: 'bad',
	blocked: 'bad',
	gone: 'bad',
	lost: 'bad',
}

export const StateTag = ({ state }: { state: string }) => (
	<span class={`state ${TONES[state] ?? ''}`}>{visible(state)}</span>
)

export function Ago({ time }: { time: string | null | undefined }) {
	return (
		<time dateTime={time ?? ''} title={stamp(time)} class="nowrap">
			{ago(time, now.value)}
		</time>
	)
}

export async function copy(text: string, what = 'Copied'): Promise<void> {
	try {
		await navigator.clipboard.writeText(text)
		toast(what, 'ok')
	} catch {
		toast('The browser refuses to copy: select the text and press Ctrl-C.', 'bad')
	}
}

export function Snippet({ text }: { text: string }) {
	return (
		<div class="snippet">
			{text}
			<Button icon="copy" small kind="quiet" label="Copy" onClick={() => void copy(text)} />
		</div>
	)
}

export function Empty({
	icon = 'box',
	title,
	text,
	snippet,
	children,
}: {
	icon?: IconName
	title: string
	text?: ComponentChildren
	snippet?: string
	children?: ComponentChildren
}) {
	return (
		<div class="empty">
			<Icon name={icon} size={28} />
			<h2>{title}</h2>
			{text && <p>{text}</p>}
			{snippet && <Snippet text={snippet} />}
			{children}
		</div>
	)
}

export const Loading = ({ what = 'Loading' }: { what?: string }) => (
	<div class="loading row" role="status">
		<span class="spin" /> {what} …
	</div>
)

export function Failure({ error, again }: { error: Error; again?: () => void }) {
	return (
		<div class="notice bad row" role="alert">
			<span class="grow">{visible(error.message)}</span>
			{again && (
				<Button small onClick={again}>
					Try again
				</Button>
			)}
		</div>
	)
}

export function Field({
	label,
	hint,
	children,
	error,
}: {
	label: string
	hint?: ComponentChildren
	error?: string | null
	children: (id: string) => ComponentChildren
}) {
	const id = useId()
	return (
		<div class="field">
			<label for={id}>{label}</label>
			{children(id)}
			{hint && <span class="hint">{hint}</span>}
			{error && (
				<span class="error small" role="alert">
					{error}
				</span>
			)}
		</div>
	)
}

export function Search({ value, set, label }: { value: string; set: (text: string) => void; label: string }) {
	return (
		<span class="search">
			<Icon name="search" />
			<input
				class="input"
				type="search"
				placeholder={label}
				aria-label={label}
				value={value}
				onInput={(e) => set(e.currentTarget.value)}
				data-search
			/>
		</span>
	)
}

export function Select<T extends string>({
	value,
	set,
	label,
	options,
	id,
	disabled,
}: {
	value: T
	set: (value: T) => void
	label?: string
	options: readonly (readonly [T, string])[]
	id?: string
	disabled?: boolean
}) {
	return (
		<select
			class="select"
			id={id}
			aria-label={label}
			disabled={disabled}
			value={value}
			onChange={(e) => set(e.currentTarget.value as T)}
		>
			{options.map(([key, name]) => (
				<option key={key} value={key}>
					{name}
				</option>
			))}
		</select>
	)
}

export type MenuItem = { name: string; icon?: IconName; act: () => void; danger?: boolean; disabled?: boolean }

export function Menu({
	label,
	icon = 'more',
	items,
	small,
	text,
	who,
}: {
	label: string
	icon?: IconName
	items: MenuItem[]
	small?: boolean
	text?: string
	who?: ComponentChildren
}) {
	const [open, setOpen] = useState(false)
	const root = useRef<HTMLDivElement>(null)
	useEffect(() => {
		if (!open) return undefined
		const out = (e: Event) => !root.current?.contains(e.target as Node) && setOpen(false)
		document.addEventListener('pointerdown', out)
		root.current?.querySelector<HTMLElement>('[role=menuitem]:not(:disabled)')?.focus()
		return () => document.removeEventListener('pointerdown', out)
	}, [open])
	const onKey = (e: KeyboardEvent) => {
		if (!open) return
		const all = [...(root.current?.querySelectorAll<HTMLElement>('[role=menuitem]:not(:disabled)') ?? [])]
		const at = all.indexOf(document.activeElement as HTMLElement)
		if (e.key === 'Escape') {
			setOpen(false)
			root.current?.querySelector('button')?.focus()
		} else if (e.key === 'ArrowDown') all[(at + 1) % all.length]?.focus()
		else if (e.key === 'ArrowUp') all[(at - 1 + all.length) % all.length]?.focus()
		else return
		e.preventDefault()
		e.stopPropagation()
	}
	return (
		<div class="menu" ref={root} onKeyDown={onKey}>
			<Button
				icon={icon}
				kind="quiet"
				small={small}
				label={label}
				aria-haspopup="menu"
				aria-expanded={open}
				onClick={() => setOpen(!open)}
			>
				{text}
			</Button>
			{open && (
				<div role="menu" aria-label={label}>
					{who}
					{items.map((item) => (
						<button
							key={item.name}
							type="button"
							role="menuitem"
							class={item.danger ? 'danger' : ''}
							disabled={item.disabled}
							onClick={() => {
								setOpen(false)
								item.act()
							}}
						>
							{item.icon && <Icon name={item.icon} />}
							{item.name}
						</button>
					))}
				</div>
			)}
		</div>
	)
}

export function Tags({ of }: { of: Record<string, string> | undefined }) {
	const pairs = Object.entries(of ?? {})
	if (pairs.length === 0) return <span class="muted">–</span>
	return (
		<span class="row wrap">
			{pairs.map(([key, value]) => (
				<span class="tag" key={key} title={visible(`${key}=${value}`)}>
					<span class="clip">
						<b>{visible(key)}=</b>
						{visible(value)}
					</span>
				</span>
			))}
		</span>
	)
}
