// SPDX-License-Identifier: Apache-2.0
// The dialog that creates a sandbox.
import { useEffect, useState } from 'preact/hooks'
import { get, post } from '../lib/api'
import { go } from '../lib/router'
import type { Sandbox, Template, Volume } from '../lib/types'
import { FormDialog } from '../ui/dialog'
import { Field } from '../ui/kit'

// "name=value" lines to an object; empty lines do not count.
export function pairs(text: string): Record<string, string> {
	const found: Record<string, string> = {}
	for (const line of text.split('\n').map((l) => l.trim())) {
		if (!line) continue
		const at = line.indexOf('=')
		if (at < 1) throw new Error(`"${line}" is not of the form name=value`)
		found[line.slice(0, at).trim()] = line.slice(at + 1).trim()
	}
	return found
}

export const namesOf = (t: Template): string[] =>
	t.names?.length ? t.names : t.aliases?.length ? t.aliases : [t.templateID]

export function CreateSandbox({ close, template }: { close: () => void; template?: string }) {
	const [names, setNames] = useState<string[]>([])
	const [volumes, setVolumes] = useState<Volume[]>([])
	const [form, setForm] = useState({
		template: template ?? 'code-interpreter-v1',
		minutes: '60',
		metadata: '',
		envs: '',
		internet: true,
		pause: false,
		volume: '',
		at: '/mnt/data',
	})
	const set = (more: Partial<typeof form>) => setForm({ ...form, ...more })
	useEffect(() => {
		void Promise.all([get<Template[]>('/templates'), get<Template[]>('/default-templates')])
			.then(([own, of]) => setNames([...own, ...of].flatMap(namesOf)))
			.catch(() => {})
		void get<Volume[]>('/volumes')
			.then(setVolumes)
			.catch(() => {})
	}, [])
	const submit = async () => {
		const made = await post<Sandbox>('/v2/sandboxes', {
			templateID: form.template.trim(),
			timeout: Math.round(Number(form.minutes) * 60),
			secure: true,
			metadata: pairs(form.metadata),
			envVars: pairs(form.envs),
			allow_internet_access: form.internet,
			autoPause: form.pause,
			...(form.volume ? { volumeMounts: [{ name: form.volume, path: form.at }] } : {}),
		})
		go(`/sandboxes/${made.sandboxID}`)
	}
	return (
		<FormDialog title="New sandbox" close={close} submit={submit} action="Create">
			<Field label="Template">
				{(id) => (
					<>
						<input
							id={id}
							class="input mono"
							list="template-names"
							required
							value={form.template}
							onInput={(e) => set({ template: e.currentTarget.value })}
						/>
						<datalist id="template-names">
							{names.map((n) => (
								<option key={n} value={n} />
							))}
						</datalist>
					</>
				)}
			</Field>
			<div class="pair form-pair">
				<Field label="Lifetime, minutes">
					{(id) => (
						<input
							id={id}
							class="input"
							type="number"
							min="1"
							max="1440"
							required
							value={form.minutes}
							onInput={(e) => set({ minutes: e.currentTarget.value })}
						/>
					)}
				</Field>
				<Field label="Volume">
					{(id) => (
						<select
							id={id}
							class="select"
							value={form.volume}
							onChange={(e) => set({ volume: e.currentTarget.value })}
						>
							<option value="">none</option>
							{volumes.map((v) => (
								<option key={v.volumeID} value={v.name}>
									{v.name}
								</option>
							))}
						</select>
					)}
				</Field>
			</div>
			{form.volume && (
				<Field label="Mounted at">
					{(id) => (
						<input
							id={id}
							class="input mono"
							required
							value={form.at}
							onInput={(e) => set({ at: e.currentTarget.value })}
						/>
					)}
				</Field>
			)}
			<Field label="Metadata" hint="One name=value per line. Lists can be filtered by it.">
				{(id) => (
					<textarea
						id={id}
						class="area mono"
						rows={2}
						placeholder={'agent=ada\njob=42'}
						value={form.metadata}
						onInput={(e) => set({ metadata: e.currentTarget.value })}
					/>
				)}
			</Field>
			<Field label="Environment variables">
				{(id) => (
					<textarea
						id={id}
						class="area mono"
						rows={2}
						placeholder="MODEL=small"
						value={form.envs}
						onInput={(e) => set({ envs: e.currentTarget.value })}
					/>
				)}
			</Field>
			<label class="check">
				<input
					type="checkbox"
					checked={form.internet}
					onChange={(e) => set({ internet: e.currentTarget.checked })}
				/>{' '}
				Reaches the internet
			</label>
			<label class="check">
				<input
					type="checkbox"
					checked={form.pause}
					onChange={(e) => set({ pause: e.currentTarget.checked })}
				/>{' '}
				Pauses at the end of its lifetime instead of ending
			</label>
		</FormDialog>
	)
}
