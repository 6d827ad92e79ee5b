// SPDX-License-Identifier: Apache-2.0
// One terminal: the screen, which outlives a lost connection and a look at another tab, and the process behind it.
import { signal } from '@preact/signals'
import type { FitAddon } from '@xterm/addon-fit'
import type { Terminal } from '@xterm/xterm'
import { healthy } from '../lib/api'
import { sdkOf, type Sdk } from '../lib/sdk'
import { allowStyles } from '../lib/strict-dom'
import type { Sandbox } from '../lib/types'

export type ShellState = 'opening' | 'open' | 'lost' | 'ended'

const AGAIN_MS = 500,
	AGAIN_MOST_MS = 5000,
	SCROLLBACK = 10000
const COLORS = {
	background: '#0b0f15',
	foreground: '#dfe5ee',
	cursor: '#3cc3cb',
	selectionBackground: '#2b5b66',
	black: '#1c2430',
	red: '#ff8a80',
	green: '#7ccf80',
	yellow: '#f0b557',
	blue: '#8ab4f8',
	magenta: '#c9a6ff',
	cyan: '#3cc3cb',
	white: '#dfe5ee',
	brightBlack: '#7d8a9b',
	brightRed: '#ffb0a9',
	brightGreen: '#a5e3a8',
	brightYellow: '#ffd27a',
	brightBlue: '#b3cffb',
	brightMagenta: '#dcc6ff',
	brightCyan: '#7fe0e5',
	brightWhite: '#ffffff',
}

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms))

export class Shell {
	readonly state = signal<ShellState>('opening')
	readonly el = document.createElement('div')
	term: Terminal | null = null
	private fit: FitAddon | null = null
	private size: ResizeObserver | null = null
	private closed = false
	private input: Uint8Array[] = []
	private sending = false
	private inView: Promise<void> = Promise.resolve()
	private show = () => {}

	constructor(
		readonly s: Sandbox,
		readonly name: string,
		public pid: number | null,
		private readonly saved: () => void,
	) {
		this.el.className = 'screen'
	}

	async start(): Promise<void> {
		allowStyles()
		const [{ Terminal }, { FitAddon }] = await Promise.all([
			import('@xterm/xterm'),
			import('@xterm/addon-fit'),
		])
		this.term = new Terminal({
			cursorBlink: true,
			fontFamily: getComputedStyle(document.documentElement).getPropertyValue('--mono'),
			fontSize: 13,
			scrollback: SCROLLBACK,
			theme: COLORS,
			macOptionIsMeta: true,
		})
		this.fit = new FitAddon()
		this.term.loadAddon(this.fit)
		this.term.open(this.el)
		this.term.onData((text) => this.send(new TextEncoder().encode(text)))
		this.term.onBinary((text) => this.send(Uint8Array.from(text, (c) => c.charCodeAt(0))))
		this.term.onResize(({ cols, rows }) => void this.resize(cols, rows))
		this.term.attachCustomKeyEventHandler((e) => this.key(e))
		this.size = new ResizeObserver(() => this.el.isConnected && this.fit?.fit())
		this.size.observe(this.el)
		this.fit.fit()
		if (this.el.isConnected) this.term.focus()
		void this.run()
	}

	// Shift selects and copies, as in other terminals; Ctrl-K belongs to the palette only outside.
	private key(e: KeyboardEvent): boolean {
		if (e.type === 'keydown' && e.ctrlKey && e.shiftKey && e.code === 'KeyC' && this.term?.hasSelection()) {
			e.preventDefault()
			void navigator.clipboard.writeText(this.term.getSelection()).catch(() => {})
			return false
		}
		return !(e.ctrlKey && e.shiftKey && e.code === 'KeyV')
	}

	attached(): void {
		this.show()
		this.inView = Promise.resolve()
		this.fit?.fit()
		this.term?.focus()
	}

	detached(): void {
		this.inView = new Promise((done) => (this.show = done))
	}

	private async run(): Promise<void> {
		for (let wait = AGAIN_MS; !this.closed; wait = Math.min(wait * 2, AGAIN_MOST_MS)) {
			await this.inView // a request would wake a sandbox that sleeps
			try {
				const sdk = await sdkOf(this.s)
				const handle = await this.connect(sdk)
				this.pid = handle.pid
				this.saved()
				this.state.value = 'open'
				wait = AGAIN_MS
				if (this.term) void this.resize(this.term.cols, this.term.rows)
				const { exitCode } = await handle.wait()
				return this.end(exitCode)
			} catch (err) {
				if (this.closed) return
				const { name, exitCode } = err as { name: string; exitCode?: number }
				if (name === 'CommandExitError') return this.end(exitCode ?? 1)
				if (name === 'NotFoundError' || /not found|no process/i.test((err as Error).message))
					return this.end(null)
				this.state.value = 'lost'
				while (!this.closed && !(await healthy())) await pause(wait)
				await pause(wait)
			}
		}
	}

	private connect(sdk: Sdk) {
		const onData = (bytes: Uint8Array) => new Promise<void>((done) => this.term!.write(bytes, done))
		const { cols, rows } = this.term!
		return this.pid === null
			? sdk.pty.create({ cols, rows, onData, timeoutMs: 0 })
			: sdk.pty.connect(this.pid, { onData, timeoutMs: 0 })
	}

	private end(code: number | null): void {
		this.state.value = 'ended'
		this.pid = null
		this.saved()
		this.term?.write(
			`\r\n\x1b[2m[${code === null ? 'the process is gone' : `ended with exit code ${code}`}]\x1b[0m\r\n`,
		)
	}

	// In order, one request at a time; what is typed meanwhile goes with the next one.
	private send(bytes: Uint8Array): void {
		if (this.state.value === 'ended') return
		this.input.push(bytes)
		if (!this.sending) void this.flush()
	}

	private async flush(): Promise<void> {
		this.sending = true
		while (this.input.length > 0 && this.pid !== null && this.state.value === 'open') {
			const all = new Uint8Array(this.input.reduce((n, b) => n + b.length, 0))
			let at = 0
			for (const part of this.input.splice(0)) {
				all.set(part, at)
				at += part.length
			}
			try {
				await (await sdkOf(this.s)).pty.sendInput(this.pid, all)
			} catch {
				break // the connection tells that it is lost
			}
		}
		this.sending = false
	}

	private async resize(cols: number, rows: number): Promise<void> {
		if (this.pid === null || this.state.value !== 'open') return
		await (await sdkOf(this.s)).pty.resize(this.pid, { cols, rows }).catch(() => {})
	}

	close(): void {
		this.closed = true
		const pid = this.pid
		this.pid = null
		if (pid !== null) void sdkOf(this.s).then((sdk) => sdk.pty.kill(pid).catch(() => {}))
		this.size?.disconnect()
		this.term?.dispose()
		this.el.remove()
	}
}
