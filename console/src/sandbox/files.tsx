// SPDX-License-Identifier: Apache-2.0
// The files of a sandbox: a tree that follows changes, a viewer, upload by drop.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { messageFrom } from '../lib/api'
import { bytes, visible } from '../lib/format'
import { sdkOf, type EntryInfo } from '../lib/sdk'
import type { Sandbox } from '../lib/types'
import type { TabProps } from '../pages/sandbox'
import { confirm, FormDialog } from '../ui/dialog'
import { Icon } from '../ui/icons'
import { Bar, Button, Card, Empty, Field, Menu, Select } from '../ui/kit'
import { dropped, upload, type Upload } from './transfer'
import { Viewer } from './viewer'

type Dirs = Record<string, EntryInfo[] | string> // a string: why it cannot be read
type Watch = { stop: () => Promise<void> }

const HOME = '/home/user'
const AGAIN_MS = 10000
const SHOWN = 2000 // entries of one directory

const parentOf = (path: string) => path.slice(0, path.lastIndexOf('/')) || '/'
const under = (dir: string, name: string) => (dir === '/' ? `/${name}` : `${dir}/${name}`)
const order = (a: EntryInfo, b: EntryInfo) =>
	Number(b.type === 'dir') - Number(a.type === 'dir') || a.name.localeCompare(b.name)

// Lists directories and hears of changes in those that are open.
function useDirs(s: Sandbox, root: string, user: string, changed: (path: string, gone: boolean) => void) {
	const [dirs, setDirs] = useState<Dirs>({})
	const watches = useRef(new Map<string, Watch | null>())
	const latest = useRef(changed)
	latest.current = changed

	const list = useCallback(
		async (path: string) => {
			try {
				const sdk = await sdkOf(s)
				const found = (await sdk.files.list(path, { user })).sort(order)
				setDirs((old) => ({ ...old, [path]: found }))
			} catch (err) {
				setDirs((old) => ({ ...old, [path]: messageFrom(err) }))
			}
		},
		[s.sandboxID, user],
	)
	// A browser has six connections to a server without HTTP/2, and a watch holds one: only the directory that was
	// opened last is followed, the others are listed again from time to time.
	const watch = useCallback(
		async (path: string) => {
			if (watches.current.has(path)) return
			for (const handle of watches.current.values()) void handle?.stop().catch(() => {})
			watches.current.clear()
			watches.current.set(path, null)
			let timer = 0
			try {
				const sdk = await sdkOf(s)
				const handle = await sdk.files.watchDir(
					path,
					(event) => {
						const at = under(path, event.name)
						latest.current(at, /remove|rename/i.test(event.type))
						timer ||= window.setTimeout(() => {
							timer = 0
							void list(path)
						}, 150)
					},
					{ user, timeoutMs: 0, onExit: () => void watches.current.delete(path) },
				)
				if (watches.current.has(path)) watches.current.set(path, handle)
				else void handle.stop()
			} catch {
				watches.current.delete(path) // it can be listed without being followed
			}
		},
		[s.sandboxID, user],
	)
	const open = useCallback(
		(path: string) => {
			void list(path)
			void watch(path)
		},
		[list, watch],
	)
	const close = useCallback((path: string) => {
		for (const [at, handle] of watches.current)
			if (at === path || at.startsWith(`${path}/`)) {
				watches.current.delete(at)
				void handle?.stop()
			}
		setDirs((old) =>
			Object.fromEntries(
				Object.entries(old).filter(([at]) => at !== path && !at.startsWith(`${path}/`)),
			),
		)
	}, [])
	const shown = useRef<string[]>([])
	shown.current = Object.keys(dirs)
	useEffect(() => {
		const timer = setInterval(() => {
			if (document.hidden) return
			for (const path of shown.current) if (!watches.current.has(path)) void list(path)
		}, AGAIN_MS)
		return () => clearInterval(timer)
	}, [list])
	useEffect(() => {
		setDirs({})
		open(root)
		return () => {
			for (const handle of watches.current.values()) void handle?.stop().catch(() => {})
			watches.current.clear()
		}
	}, [root, user, s.sandboxID])
	return { dirs, open, close, list }
}

export function Files({ s }: TabProps) {
	const [root, setRoot] = useState(HOME)
	const [typed, setTyped] = useState(HOME)
	const [user, setUser] = useState<'user' | 'root'>('user')
	const [entry, setEntry] = useState<EntryInfo | null>(null)
	const [stale, setStale] = useState(0)
	const [removed, setRemoved] = useState(false)
	const [uploads, setUploads] = useState<Upload[]>([])
	const [over, setOver] = useState(false)
	const [dialog, setDialog] = useState<{ kind: 'file' | 'dir' | 'rename'; at: string } | null>(null)
	const picker = useRef<HTMLInputElement>(null)
	const { dirs, open, close, list } = useDirs(s, root, user, (path, gone) => {
		if (path !== entry?.path) return
		setRemoved(gone)
		if (!gone) setStale((n) => n + 1)
	})
	const choose = (e: EntryInfo) => {
		setEntry(e)
		setStale(0)
		setRemoved(false)
	}
	const send = async (files: { path: string; file: File }[]) => {
		for (const { path, file } of files) {
			const mine: Upload = { name: path, sent: 0, size: file.size }
			const update = () => setUploads((old) => [...old.filter((u) => u !== mine), mine].slice(-5))
			update()
			try {
				await upload(s, under(root, path), file, user, (sent) => {
					mine.sent = sent
					update()
				})
				mine.done = true
			} catch (err) {
				mine.error = messageFrom(err)
			}
			update()
		}
		setTimeout(() => setUploads((old) => old.filter((u) => !u.done)), 4000)
		void list(root)
	}
	const remove = (e: EntryInfo) =>
		confirm({
			title: `Delete ${visible(e.name)}?`,
			text:
				e.type === 'dir'
					? 'With everything in it. This cannot be undone.'
					: 'This cannot be undone.',
			action: 'Delete',
			act: async () => {
				await (await sdkOf(s)).files.remove(e.path, { user })
				if (entry?.path === e.path) setEntry(null)
				await list(parentOf(e.path))
			},
		})
	return (
		<Card plain>
			<div
				class={`files ${over ? 'dropping' : ''}`}
				onDragOver={(e) => {
					e.preventDefault()
					setOver(true)
				}}
				onDragLeave={() => setOver(false)}
				onDrop={(e) => {
					e.preventDefault()
					setOver(false)
					if (e.dataTransfer) void dropped(e.dataTransfer).then(send)
				}}
			>
				<div class="list">
					<form
						class="row"
						onSubmit={(e) => {
							e.preventDefault()
							setRoot(typed.replace(/\/+$/, '') || '/')
						}}
					>
						<Button
							small
							icon="up"
							label="Parent directory"
							disabled={root === '/'}
							onClick={() => {
								setRoot(parentOf(root))
								setTyped(parentOf(root))
							}}
						/>
						<input
							class="input mono"
							aria-label="Directory"
							value={typed}
							onInput={(e) => setTyped(e.currentTarget.value)}
							spellcheck={false}
						/>
						<Menu
							small
							label="New file, folder or upload"
							icon="plus"
							items={[
								{
									name: 'New file …',
									icon: 'file',
									act: () =>
										setDialog({ kind: 'file', at: root }),
								},
								{
									name: 'New folder …',
									icon: 'folder',
									act: () => setDialog({ kind: 'dir', at: root }),
								},
								{
									name: 'Upload …',
									icon: 'upload',
									act: () => picker.current?.click(),
								},
								{
									name: 'Rename …',
									icon: 'edit',
									disabled: !entry,
									act: () =>
										setDialog({
											kind: 'rename',
											at: entry!.path,
										}),
								},
								{
									name: 'Delete …',
									icon: 'trash',
									danger: true,
									disabled: !entry,
									act: () => remove(entry!),
								},
							]}
						/>
						<input
							ref={picker}
							type="file"
							multiple
							hidden
							aria-label="Files to upload"
							onChange={(e) => {
								void send(
									[...(e.currentTarget.files ?? [])].map(
										(file) => ({ path: file.name, file }),
									),
								)
								e.currentTarget.value = ''
							}}
						/>
					</form>
					<Tree
						dirs={dirs}
						root={root}
						at={entry?.path}
						open={open}
						close={close}
						choose={choose}
					/>
					<div class="row bottom">
						<span class="muted small grow">Drop files here to upload</span>
						<Select
							label="As user"
							value={user}
							set={setUser}
							options={[
								['user', 'as user'],
								['root', 'as root'],
							]}
						/>
					</div>
				</div>
				<div class="viewer">
					{entry ? (
						<Viewer
							key={entry.path}
							s={s}
							entry={entry}
							user={user}
							stale={stale}
							removed={removed}
						/>
					) : (
						<Empty
							icon="file"
							title="No file is open"
							text="Choose one in the tree, or drop files from your machine to upload them."
						/>
					)}
				</div>
			</div>
			<div role="status" aria-live="polite">
				{uploads.map((u) => (
					<div class="progress" key={u.name}>
						<span class="clip mono">{visible(u.name)}</span>
						{u.error ? (
							<span class="error grow">{visible(u.error)}</span>
						) : (
							<>
								<Bar
									part={u.size ? u.sent / u.size : 1}
									label={`Upload of ${visible(u.name)}`}
								/>
								<span class="num nowrap">
									{u.done
										? `uploaded, ${bytes(u.size)}`
										: `${bytes(u.sent)} of ${bytes(u.size)}`}
								</span>
							</>
						)}
						{(u.error || u.done) && (
							<Button
								small
								icon="close"
								kind="quiet"
								label="Dismiss"
								onClick={() =>
									setUploads(uploads.filter((one) => one !== u))
								}
							/>
						)}
					</div>
				))}
			</div>
			{dialog && (
				<NameDialog
					s={s}
					user={user}
					{...dialog}
					close={() => setDialog(null)}
					done={(dir) => void list(dir)}
				/>
			)}
		</Card>
	)
}

function NameDialog({
	s,
	user,
	kind,
	at,
	close,
	done,
}: {
	s: Sandbox
	user: string
	kind: 'file' | 'dir' | 'rename'
	at: string
	close: () => void
	done: (dir: string) => void
}) {
	const [name, setName] = useState(kind === 'rename' ? (at.split('/').pop() ?? '') : '')
	const dir = kind === 'rename' ? parentOf(at) : at
	const title = { file: 'New file', dir: 'New folder', rename: 'Rename' }[kind]
	const submit = async () => {
		const { files } = await sdkOf(s)
		const path = under(dir, name)
		if (kind === 'file') {
			if (await files.exists(path, { user })) throw new Error('There is a file of that name.')
			await files.write(path, '', { user })
		} else if (kind === 'dir') await files.makeDir(path, { user })
		else await files.rename(at, path, { user })
		done(dir)
	}
	return (
		<FormDialog
			title={title}
			close={close}
			submit={submit}
			action={title}
			ready={!!name && !name.includes('\0')}
		>
			<Field label="Name" hint={`in ${visible(dir)}`}>
				{(id) => (
					<input
						id={id}
						class="input mono"
						required
						value={name}
						onInput={(e) => setName(e.currentTarget.value)}
						autoFocus
					/>
				)}
			</Field>
		</FormDialog>
	)
}

type TreeProps = {
	dirs: Dirs
	root: string
	at: string | undefined
	open: (path: string) => void
	close: (path: string) => void
	choose: (e: EntryInfo) => void
}

function Tree(p: TreeProps) {
	const ref = useRef<HTMLDivElement>(null)
	const onKey = (e: KeyboardEvent) => {
		const items = [...ref.current!.querySelectorAll<HTMLElement>('[role=treeitem]')]
		const here = items.indexOf(document.activeElement as HTMLElement)
		const step = { ArrowDown: 1, ArrowUp: -1 }[e.key]
		if (step) items[Math.max(0, Math.min(items.length - 1, here + step))]?.focus()
		else if (e.key === 'Home') items[0]?.focus()
		else if (e.key === 'End') items[items.length - 1]?.focus()
		else if (['Enter', ' ', 'ArrowRight', 'ArrowLeft'].includes(e.key) && here >= 0) {
			const expanded = items[here]!.getAttribute('aria-expanded')
			if (
				(e.key === 'ArrowRight' && expanded !== 'false') ||
				(e.key === 'ArrowLeft' && expanded !== 'true')
			)
				return
			items[here]!.click()
		} else return
		e.preventDefault()
	}
	return (
		<div class="tree" role="tree" aria-label="Files" ref={ref} onKeyDown={onKey}>
			<Branch {...p} path={p.root} depth={0} />
		</div>
	)
}

function Branch({ path, depth, ...p }: TreeProps & { path: string; depth: number }) {
	const entries = p.dirs[path]
	const pad = { paddingLeft: `${depth * 14 + 6}px` }
	if (entries === undefined)
		return (
			<div class="muted small row" style={pad}>
				<span class="spin" />
			</div>
		)
	if (typeof entries === 'string')
		return (
			<div class="error small" style={pad}>
				{visible(entries)}
			</div>
		)
	return (
		<div role="group">
			{entries.length === 0 && (
				<div class="muted small" style={pad}>
					empty
				</div>
			)}
			{entries.slice(0, SHOWN).map((e) => {
				const dir = e.type === 'dir'
				const expanded = dir && p.dirs[e.path] !== undefined
				return (
					<div key={e.path} role="presentation">
						<div
							role="treeitem"
							tabIndex={0}
							aria-level={depth + 1}
							aria-selected={p.at === e.path}
							aria-expanded={dir ? expanded : undefined}
							style={pad}
							title={visible(e.path)}
							onClick={() =>
								dir
									? expanded
										? p.close(e.path)
										: p.open(e.path)
									: p.choose(e)
							}
						>
							<Icon
								name={dir ? (expanded ? 'down' : 'chevron') : 'file'}
								size={dir ? 11 : 14}
							/>
							{dir && <Icon name="folder" size={14} />}
							<span class="clip grow">{visible(e.name)}</span>
							{!dir && <span class="muted small num">{bytes(e.size)}</span>}
						</div>
						{expanded && <Branch {...p} path={e.path} depth={depth + 1} />}
					</div>
				)
			})}
			{entries.length > SHOWN && (
				<div class="muted small" style={pad}>
					… and {entries.length - SHOWN} more: go to the directory in a terminal
				</div>
			)}
		</div>
	)
}
