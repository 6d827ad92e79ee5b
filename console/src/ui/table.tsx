// SPDX-License-Identifier: Apache-2.0
// Tables. A long one makes only the rows that are in view.
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Icon } from './icons'

export type Column<T> = {
	name: string
	width: string
	cell: (row: T) => ComponentChildren
	sort?: (row: T) => string | number
	right?: boolean
	hidden?: boolean // its name is for screen readers only
}

const ROW = 44,
	AHEAD = 8,
	VIRTUAL = 80

function compare(a: string | number, b: string | number): number {
	return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b))
}

export function Table<T>({
	label,
	columns,
	rows,
	id,
	empty,
	picked,
	pick,
	seen,
	first,
}: {
	label: string
	columns: Column<T>[]
	rows: T[]
	id: (row: T) => string
	empty?: ComponentChildren
	picked?: Set<string>
	pick?: (picked: Set<string>) => void
	seen?: (rows: T[]) => void
	first?: { column: string; down?: boolean }
}) {
	const [order, setOrder] = useState(first ?? { column: '', down: false })
	const sorted = useMemo(() => {
		const by = columns.find((c) => c.name === order.column)?.sort
		if (!by) return rows
		const keyed = rows.map((row) => [by(row), row] as const)
		keyed.sort((a, b) => compare(a[0], b[0]) * (order.down ? -1 : 1))
		return keyed.map(([, row]) => row)
	}, [rows, order, columns])
	const grid = { gridTemplateColumns: `${pick ? '20px ' : ''}${columns.map((c) => c.width).join(' ')}` }
	const every = picked !== undefined && rows.length > 0 && rows.every((row) => picked.has(id(row)))

	const toggle = (key: string) => {
		const next = new Set(picked)
		if (!next.delete(key)) next.add(key)
		pick?.(next)
	}
	if (rows.length === 0 && empty) return <>{empty}</>
	const line = (row: T, top?: number) => {
		const key = id(row)
		return (
			<div
				class={`tr ${picked?.has(key) ? 'picked' : ''}`}
				role="row"
				key={key}
				data-id={key}
				style={
					top === undefined
						? grid
						: {
								...grid,
								position: 'absolute',
								top: `${top}px`,
								left: 0,
								right: 0,
								height: `${ROW}px`,
							}
				}
			>
				{pick && (
					<span role="cell">
						<input
							type="checkbox"
							aria-label={`Select ${key}`}
							checked={picked?.has(key)}
							onChange={() => toggle(key)}
						/>
					</span>
				)}
				{columns.map((c) => (
					<div role="cell" key={c.name} class={c.right ? 'right num' : ''}>
						{c.cell(row)}
					</div>
				))}
			</div>
		)
	}
	return (
		<div class="table" role="table" aria-label={label} aria-rowcount={rows.length + 1}>
			<div role="rowgroup">
				<div class="tr th" role="row" style={grid}>
					{pick && (
						<span role="columnheader">
							<input
								type="checkbox"
								aria-label="Select all"
								checked={every}
								onChange={() =>
									pick(every ? new Set() : new Set(rows.map(id)))
								}
							/>
						</span>
					)}
					{columns.map((c) => (
						<div
							role="columnheader"
							key={c.name}
							class={c.right ? 'right' : ''}
							aria-sort={
								order.column === c.name
									? order.down
										? 'descending'
										: 'ascending'
									: undefined
							}
						>
							{c.sort ? (
								<button
									type="button"
									onClick={() =>
										setOrder({
											column: c.name,
											down:
												order.column ===
													c.name &&
												!order.down,
										})
									}
								>
									{c.name}
									{order.column === c.name && (
										<Icon
											name={
												order.down
													? 'down'
													: 'up'
											}
											size={11}
										/>
									)}
								</button>
							) : (
								<span class={c.hidden ? 'sr' : ''}>{c.name}</span>
							)}
						</div>
					))}
				</div>
			</div>
			{sorted.length > VIRTUAL ? (
				<Virtual rows={sorted} line={line} seen={seen} label={label} />
			) : (
				<Plain rows={sorted} line={line} seen={seen} />
			)}
		</div>
	)
}

function Plain<T>({
	rows,
	line,
	seen,
}: {
	rows: T[]
	line: (row: T) => ComponentChildren
	seen?: (rows: T[]) => void
}) {
	useEffect(() => seen?.(rows), [rows])
	return (
		<div class="tbody" role="rowgroup">
			{rows.map((row) => line(row))}
		</div>
	)
}

function Virtual<T>({
	rows,
	line,
	seen,
	label,
}: {
	rows: T[]
	line: (row: T, top: number) => ComponentChildren
	seen?: (rows: T[]) => void
	label: string
}) {
	const ref = useRef<HTMLDivElement>(null)
	const [view, setView] = useState({ top: 0, height: 600 })
	useLayoutEffect(() => {
		const el = ref.current!
		const measure = () => setView({ top: el.scrollTop, height: el.clientHeight })
		measure()
		el.addEventListener('scroll', measure, { passive: true })
		const size = new ResizeObserver(measure)
		size.observe(el)
		return () => {
			el.removeEventListener('scroll', measure)
			size.disconnect()
		}
	}, [])
	const from = Math.max(0, Math.floor(view.top / ROW) - AHEAD)
	const to = Math.min(rows.length, Math.ceil((view.top + view.height) / ROW) + AHEAD)
	const shown = rows.slice(from, to)
	useEffect(() => {
		const timer = setTimeout(() => seen?.(shown), 80)
		return () => clearTimeout(timer)
	}, [from, to, rows])
	return (
		<div
			class="scroller tbody"
			ref={ref}
			tabIndex={0}
			role="rowgroup"
			aria-label={`${label}, rows`}
			style={{ height: `${rows.length * ROW}px` }}
		>
			<div role="presentation" style={{ height: `${rows.length * ROW}px` }}>
				{shown.map((row, i) => line(row, (from + i) * ROW))}
			</div>
		</div>
	)
}
