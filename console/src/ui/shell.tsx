// SPDX-License-Identifier: Apache-2.0
// The frame around all pages: navigation, the line at the top, the palette.
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { online } from '../lib/api'
import { now, useKey } from '../lib/hooks'
import { go, href, place } from '../lib/router'
import { isAdmin, logout, mayAct, session } from '../lib/session'
import { Audit } from '../pages/audit'
import { Keys } from '../pages/keys'
import { NotFound } from '../pages/not-found'
import { Overview } from '../pages/overview'
import { SandboxPage } from '../pages/sandbox'
import { Sandboxes } from '../pages/sandboxes'
import { Sessions } from '../pages/sessions'
import { Snapshots } from '../pages/snapshots'
import { Team, Teams } from '../pages/teams'
import { Template } from '../pages/template'
import { Templates } from '../pages/templates'
import { Usage } from '../pages/usage'
import { VolumePage, Volumes } from '../pages/volumes'
import { Webhooks } from '../pages/webhooks'
import { visible } from '../lib/format'
import { Icon, Logo, type IconName } from './icons'
import { Button, Menu } from './kit'
import { Palette, paletteOpen, type Command } from './palette'
import { theme, toggleTheme } from './theme'

type Entry = {
	path: string
	name: string
	icon: IconName
	admin?: boolean
	acts?: boolean
	keys: string
	page: (parts: string[]) => ComponentChildren
}

const GROUPS: { name: string; entries: Entry[] }[] = [
	{
		name: '',
		entries: [{ path: '/', name: 'Overview', icon: 'overview', keys: 'o', page: () => <Overview /> }],
	},
	{
		name: 'Run',
		entries: [
			{
				path: '/sandboxes',
				name: 'Sandboxes',
				icon: 'box',
				keys: 's',
				page: ([id, tab]) => (id ? <SandboxPage key={id} id={id} tab={tab} /> : <Sandboxes />),
			},
			{
				path: '/templates',
				name: 'Templates',
				icon: 'template',
				keys: 't',
				page: ([id, build]) =>
					id ? <Template key={id} id={id} build={build} /> : <Templates />,
			},
			{ path: '/snapshots', name: 'Snapshots', icon: 'camera', keys: 'n', page: () => <Snapshots /> },
			{
				path: '/volumes',
				name: 'Volumes',
				icon: 'disk',
				keys: 'v',
				page: ([id]) => (id ? <VolumePage key={id} id={id} /> : <Volumes />),
			},
			{
				path: '/sessions',
				name: 'Agent sessions',
				icon: 'agent',
				acts: true,
				keys: 'g',
				page: () => <Sessions />,
			},
		],
	},
	{
		name: 'Account',
		entries: [
			{ path: '/keys', name: 'API keys', icon: 'key', keys: 'k', page: () => <Keys /> },
			{ path: '/usage', name: 'Usage', icon: 'coin', keys: 'u', page: () => <Usage /> },
			{ path: '/webhooks', name: 'Webhooks', icon: 'hook', keys: 'w', page: () => <Webhooks /> },
			{ path: '/audit', name: 'Audit trail', icon: 'shield', keys: 'a', page: () => <Audit /> },
			{
				path: '/teams',
				name: 'Teams',
				icon: 'team',
				admin: true,
				keys: 'm',
				page: ([id]) => (id ? <Team key={id} id={id} /> : <Teams />),
			},
		],
	},
]

// acts: not for viewers
const offered = (e: Entry): boolean => (!e.admin || isAdmin.value) && (!e.acts || mayAct.value)

function matching(path: string): { entry: Entry; parts: string[] } | null {
	const parts = path.split('/').filter(Boolean)
	for (const { entries } of GROUPS)
		for (const entry of entries) {
			if (!offered(entry)) continue
			if (entry.path === '/' ? parts.length === 0 : entry.path === `/${parts[0]}`)
				return { entry, parts: parts.slice(1).map(decoded) }
		}
	return null
}

function decoded(part: string): string {
	try {
		return decodeURIComponent(part)
	} catch {
		return part
	}
}

const typing = (e: KeyboardEvent) =>
	e
		.composedPath()
		.some(
			(t) =>
				t instanceof HTMLElement &&
				(t.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(t.tagName)),
		)

export function Shell() {
	const [menu, setMenu] = useState(false)
	const found = matching(place.value.path)
	const me = session.value!
	useEffect(() => {
		setMenu(false)
		document.title = found ? `${[found.entry.name, ...found.parts].join(' · ')} — atoll` : 'atoll'
	}, [place.value.path])
	useKey(
		(e) => (e.ctrlKey || e.metaKey) && e.key.toLowerCase() === 'k',
		() => (paletteOpen.value = !paletteOpen.value),
	)
	useKey(
		(e) => e.key === '/' && !typing(e) && !!document.querySelector('[data-search]'),
		() => document.querySelector<HTMLElement>('[data-search]')?.focus(),
	)
	useGoKeys()
	const commands = useMemo<Command[]>(
		() => [
			...GROUPS.flatMap((g) => g.entries)
				.filter(offered)
				.map((e) => ({
					name: e.name,
					hint: `g ${e.keys}`,
					icon: e.icon,
					act: () => go(e.path),
				})),
			{ name: 'New sandbox', icon: 'plus', act: () => go('/sandboxes?new=1') },
			{ name: 'New template', icon: 'plus', act: () => go('/templates?new=1') },
			{ name: 'Dark or light', icon: 'moon', act: toggleTheme },
			{ name: 'Log out', icon: 'exit', act: () => void logout() },
		],
		[me.role],
	)
	return (
		<div class={`shell ${menu ? 'open' : ''}`}>
			<a class="skip" href="#content">
				Skip to content
			</a>
			<button class="veil" aria-label="Close the menu" onClick={() => setMenu(false)} />
			<Side at={found?.entry} />
			<div class="main">
				<header class="top">
					<Button
						icon="menu"
						kind="quiet burger"
						label="Menu"
						onClick={() => setMenu(true)}
					/>
					<Crumbs found={found} />
					<button
						class="btn seek"
						onClick={() => (paletteOpen.value = true)}
						title="Command palette"
					>
						<Icon name="search" />
						<span>Go to …</span>
						<kbd>Ctrl K</kbd>
					</button>
					<Button
						icon={theme.value === 'dark' ? 'sun' : 'moon'}
						kind="quiet"
						label={theme.value === 'dark' ? 'Light' : 'Dark'}
						onClick={toggleTheme}
					/>
					<Menu
						label="Account"
						icon="user"
						who={
							<div class="who">
								<b>{visible(me.user ?? me.key?.name ?? 'key')}</b>
								<div class="muted small">
									{me.role} of {visible(me.team.name)}
								</div>
							</div>
						}
						items={[
							{ name: 'API keys', icon: 'key', act: () => go('/keys') },
							{ name: 'Log out', icon: 'exit', act: () => void logout() },
						]}
					/>
				</header>
				{!online.value && (
					<div class="banner" role="alert">
						<span class="spin" /> The server cannot be reached. The console tries
						again and goes on by itself.
					</div>
				)}
				<SoonOver />
				<main class="page" id="content" tabIndex={-1}>
					{found ? found.entry.page(found.parts) : <NotFound />}
				</main>
			</div>
			{paletteOpen.value && <Palette commands={commands} />}
		</div>
	)
}

const SOON_MS = 10 * 60000

// A user of an OpenID provider logs in again in another tab, so that terminals here go on.
function SoonOver() {
	const me = session.value!
	const left = Date.parse(me.expiresAt) - now.value
	if (!me.user || left > SOON_MS || left <= 0) return null
	return (
		<div class="banner" role="status">
			<span>
				Your log-in ends in {Math.ceil(left / 60000)} min.{' '}
				<a href="/console/oidc?again" target="_blank" rel="noreferrer">
					Log in again
				</a>
			</span>
		</div>
	)
}

// g, then a letter, goes to a page.
function useGoKeys(): void {
	useEffect(() => {
		let at = 0
		const on = (e: KeyboardEvent) => {
			if (typing(e) || e.ctrlKey || e.metaKey || e.altKey || document.querySelector('dialog[open]'))
				return
			if (e.key === 'g') at = e.timeStamp
			else if (e.timeStamp - at < 1500) {
				const entry = GROUPS.flatMap((g) => g.entries).find((one) => one.keys === e.key)
				at = 0
				if (entry && offered(entry)) go(entry.path)
			}
		}
		document.addEventListener('keydown', on)
		return () => document.removeEventListener('keydown', on)
	}, [])
}

function Side({ at }: { at: Entry | undefined }) {
	return (
		<aside class="side">
			<a class="brand" href={href('/')} aria-label="atoll, overview">
				<Logo /> atoll
			</a>
			<nav aria-label="Pages">
				{GROUPS.map((group) => (
					<div key={group.name}>
						{group.name && <h2>{group.name}</h2>}
						{group.entries.filter(offered).map((e) => (
							<a
								key={e.path}
								href={href(e.path)}
								aria-current={e === at ? 'page' : undefined}
							>
								<Icon name={e.icon} />
								{e.name}
							</a>
						))}
					</div>
				))}
			</nav>
			<div class="foot">
				{visible(session.value!.team.name)} · {session.value!.role}
				<br />
				atoll {session.value!.server.version} ·{' '}
				<a href="/console/licenses.txt" target="_blank" rel="noreferrer">
					licences
				</a>
			</div>
		</aside>
	)
}

function Crumbs({ found }: { found: ReturnType<typeof matching> }) {
	const id = found?.parts[0]
	return (
		<nav class="crumbs grow" aria-label="Where you are">
			{found && id ? (
				<>
					<a href={href(found.entry.path)} class="nowrap">
						{found.entry.name}
					</a>
					<Icon name="chevron" size={12} />
					<span aria-current="page" class="clip">
						{visible(id)}
					</span>
				</>
			) : (
				<span aria-current="page">{found?.entry.name ?? 'Not found'}</span>
			)}
		</nav>
	)
}
