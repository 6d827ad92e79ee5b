// SPDX-License-Identifier: Apache-2.0
// Terminals of a sandbox, several side by side in tabs. They stay open while other pages are shown.
import { useEffect, useRef, useState } from 'preact/hooks'
import { signal } from '@preact/signals'
import type { Sandbox } from '../lib/types'
import type { TabProps } from '../pages/sandbox'
import { Button, Empty } from '../ui/kit'
import { Shell, type ShellState } from './shell'

const MOST = 3 // each holds a connection, of which a browser has six to a server without HTTP/2
const open = new Map<string, Shell[]>()
const changed = signal(0)
const STATES: Record<ShellState, string> = {
	opening: 'opening …',
	open: 'connected',
	lost: 'connection lost, trying again …',
	ended: 'ended',
}

const keyOf = (id: string) => `atoll-terminals-${id}`

// A reload of the page finds the processes again.
function save(id: string): void {
	const pids = (open.get(id) ?? []).map((one) => one.pid).filter((pid) => pid !== null)
	try {
		sessionStorage.setItem(keyOf(id), JSON.stringify(pids))
	} catch {
		// without storage a reload opens new ones
	}
}

function add(s: Sandbox, pid: number | null = null): Shell {
	const list = open.get(s.sandboxID) ?? []
	const shell = new Shell(s, String((Number(list[list.length - 1]?.name) || 0) + 1), pid, () => save(s.sandboxID))
	open.set(s.sandboxID, [...list, shell])
	changed.value++
	void shell.start()
	return shell
}

function drop(shell: Shell): void {
	const id = shell.s.sandboxID
	open.set(
		id,
		(open.get(id) ?? []).filter((one) => one !== shell),
	)
	shell.close()
	save(id)
	changed.value++
}

function before(s: Sandbox): number[] {
	try {
		return JSON.parse(sessionStorage.getItem(keyOf(s.sandboxID)) ?? '[]') as number[]
	} catch {
		return []
	}
}

export function Terminals({ s }: TabProps) {
	void changed.value
	const [at, setAt] = useState<Shell | null>(() => {
		const list = open.get(s.sandboxID) ?? []
		if (list.length > 0) return list[list.length - 1]!
		const pids = before(s)
		return (pids.length > 0 ? pids.map((pid) => add(s, pid)) : [add(s)])[0]!
	})
	const list = open.get(s.sandboxID) ?? []
	const shown = at && list.includes(at) ? at : (list[list.length - 1] ?? null)
	if (!shown)
		return (
			<Empty icon="terminal" title="No terminal" text="Opens a login shell in the sandbox.">
				<Button icon="plus" kind="primary" onClick={() => setAt(add(s))}>
					New terminal
				</Button>
			</Empty>
		)
	return (
		<div class="term">
			<header>
				{list.map((one) => (
					<Button
						key={one.name}
						small
						aria-pressed={one === shown}
						onClick={() => setAt(one)}
					>
						Terminal {one.name}
					</Button>
				))}
				<Button
					small
					icon="plus"
					label="New terminal"
					kind="quiet"
					disabled={list.length >= MOST}
					onClick={() => setAt(add(s))}
				/>
				<span class="grow" />
				<span class="muted small" role="status" data-terminal={shown.state.value}>
					{STATES[shown.state.value]}
				</span>
				<Button
					small
					icon="close"
					kind="quiet"
					label="Close the terminal"
					onClick={() => drop(shown)}
				/>
			</header>
			<Screen key={shown.name} shell={shown} />
		</div>
	)
}

function Screen({ shell }: { shell: Shell }) {
	const ref = useRef<HTMLDivElement>(null)
	useEffect(() => {
		ref.current!.append(shell.el)
		shell.attached()
		return () => {
			shell.detached()
			shell.el.remove()
		}
	}, [shell])
	return <div class="holder" ref={ref} />
}
