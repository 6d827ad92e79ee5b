// SPDX-License-Identifier: Apache-2.0
// The command palette: pages, sandboxes and actions by name.
import { useEffect, useMemo, useState } from 'preact/hooks'
import { signal } from '@preact/signals'
import { get } from '../lib/api'
import { visible } from '../lib/format'
import { go } from '../lib/router'
import type { Sandbox } from '../lib/types'
import { Dialog } from './dialog'
import { Icon, type IconName } from './icons'

export type Command = { name: string; hint?: string; icon: IconName; act: () => void }

export const paletteOpen = signal(false)
const local = signal<Command[]>([])
const MOST = 40

// What the page that is open adds.
export function usePageCommands(commands: Command[], deps: unknown[]): void {
	useEffect(() => {
		local.value = commands
		return () => {
			local.value = []
		}
	}, deps)
}

export function Palette({ commands }: { commands: Command[] }) {
	const [text, setText] = useState('')
	const [at, setAt] = useState(0)
	const [sandboxes, setSandboxes] = useState<Command[]>([])
	useEffect(() => {
		get<Sandbox[]>('/sandboxes')
			.then((rows) =>
				setSandboxes(
					rows.map((s) => ({
						name: s.sandboxID,
						hint: visible(
							[
								s.alias ?? s.templateID,
								...Object.values(s.metadata ?? {}),
							].join(' · '),
						).slice(0, 80),
						icon: 'box',
						act: () => go(`/sandboxes/${s.sandboxID}`),
					})),
				),
			)
			.catch(() => {})
	}, [])
	const found = useMemo(() => {
		const words = text.toLowerCase().split(/\s+/).filter(Boolean)
		const fits = (c: Command) => words.every((w) => `${c.name} ${c.hint ?? ''}`.toLowerCase().includes(w))
		return [...local.value, ...commands, ...sandboxes].filter(fits).slice(0, MOST)
	}, [text, commands, sandboxes, local.value])
	const close = () => (paletteOpen.value = false)
	const run = (c: Command | undefined) => {
		if (!c) return
		close()
		c.act()
	}
	const onKey = (e: KeyboardEvent) => {
		if (e.key === 'ArrowDown') setAt(Math.min(at + 1, found.length - 1))
		else if (e.key === 'ArrowUp') setAt(Math.max(at - 1, 0))
		else if (e.key === 'Enter') run(found[at])
		else return
		e.preventDefault()
	}
	useEffect(() => document.getElementById(`palette-${at}`)?.scrollIntoView({ block: 'nearest' }), [at])
	return (
		<Dialog title="Command palette" close={close} className="palette">
			<div>
				<input
					placeholder="Go to a page or sandbox, or do something"
					role="combobox"
					aria-label="Command"
					aria-expanded="true"
					aria-controls="palette-list"
					aria-activedescendant={found[at] ? `palette-${at}` : undefined}
					value={text}
					onInput={(e) => {
						setText(e.currentTarget.value)
						setAt(0)
					}}
					onKeyDown={onKey}
					autoFocus
				/>
				<ul id="palette-list" role="listbox" aria-label="Commands">
					{found.map((c, i) => (
						<li
							key={c.name + i}
							id={`palette-${i}`}
							role="option"
							aria-selected={i === at}
							onMouseMove={() => setAt(i)}
							onClick={() => run(c)}
						>
							<Icon name={c.icon} />
							<span class="clip">{c.name}</span>
							{c.hint && <span class="muted clip">{c.hint}</span>}
						</li>
					))}
					{found.length === 0 && (
						<li
							role="option"
							aria-selected="false"
							aria-disabled="true"
							class="muted"
						>
							Nothing is called that.
						</li>
					)}
				</ul>
			</div>
		</Dialog>
	)
}
