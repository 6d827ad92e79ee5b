// SPDX-License-Identifier: Apache-2.0
// Dark or light: as the system has it until someone chooses.
import { effect, signal } from '@preact/signals'

const KEY = 'atoll-theme'
const dark = matchMedia('(prefers-color-scheme: dark)')

function stored(): string | null {
	try {
		return localStorage.getItem(KEY)
	} catch {
		return null
	}
}

export const theme = signal<'dark' | 'light'>(
	(stored() as 'dark' | 'light' | null) ?? (dark.matches ? 'dark' : 'light'),
)

effect(() => {
	document.documentElement.dataset.theme = theme.value
})

dark.addEventListener('change', () => {
	if (!stored()) theme.value = dark.matches ? 'dark' : 'light'
})

export function toggleTheme(): void {
	theme.value = theme.value === 'dark' ? 'light' : 'dark'
	try {
		localStorage.setItem(KEY, theme.value)
	} catch {
		// a browser without storage forgets the choice
	}
}
