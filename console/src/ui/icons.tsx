// SPDX-License-Identifier: Apache-2.0
// Line icons on a grid of 16.
const PATHS = {
	overview: 'M2.5 13.5v-5m4 5v-9m4 9v-6m4 6v-11',
	box: 'M8 1.8 14 5v6l-6 3.2L2 11V5zM2 5l6 3.2L14 5M8 8.2v6',
	template: 'M2.5 3h11v3.5h-11zM2.5 9h5v4.5h-5zM10 9h3.5v4.5H10z',
	camera: 'M2 5h3l1.2-2h3.6L11 5h3v8.5H2zM8 11.3a2.4 2.4 0 1 0 0-4.8 2.4 2.4 0 0 0 0 4.8z',
	disk: 'M2.5 4c0-2.4 11-2.4 11 0v8c0 2.4-11 2.4-11 0zM2.5 4c0 2.4 11 2.4 11 0M2.5 8c0 2.4 11 2.4 11 0',
	key: 'M10.2 9.3a3.6 3.6 0 1 0-3.5-3.5L2 10.5V14h3v-2h2v-2z',
	team: 'M5.8 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 13.5c0-5 8.6-5 8.6 0M10.5 7.3a2.2 2.2 0 0 0 0-4.3M12 9.6c1.7.5 2.6 1.8 2.6 3.9',
	coin: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM10 5.8c-1.2-1.2-4-.9-4 .8 0 2 4 1 4 3 0 1.700-2.800 2-4 .8M8 4v1m0 6.200v1',
	hook: 'M6 6.500a2.500 2.500 0 1 1 3.500 2.200M8 6.500 5.500 11M4 9.500a2.500 2.500 0 1 0 2.500 2.500H12M12 14a2 2 0 1 0-1.800-2.800L8 7.500',
	shield: 'M8 1.800 13.500 4v4c0 3.200-2.300 5.300-5.500 6.400C4.800 13.300 2.500 11.200 2.500 8V4zM5.600 8l1.700 1.700 3.100-3.200',
	agent: 'M3 6h10v7.500H3zM8 6V2.800M6 9.200v1.200m4-1.200v1.200M1.500 8.500v2.500m13-2.500v2.500',
	search: 'M7 11.500a4.500 4.500 0 1 0 0-9 4.500 4.500 0 0 0 0 9zM10.300 10.300 14 14',
	pause: 'M5.500 3v10m5-10v10',
	play: 'M4.500 2.800v10.400L13 8z',
	stop: 'M3.500 3.500h9v9h-9z',
	fork: 'M4.500 5.500v5M4.500 5.500a1.700 1.700 0 1 0 0-3.400 1.700 1.700 0 0 0 0 3.400zM4.500 14a1.700 1.700 0 1 0 0-3.500 1.700 1.700 0 0 0 0 3.500zM11.500 5.500a1.700 1.700 0 1 0 0-3.400 1.700 1.700 0 0 0 0 3.400zM11.500 5.500c0 3-7 1.500-7 4.800',
	trash: 'M2.500 4h11M6 4V2.500h4V4M4 4l.7 9.500h6.600L12 4M6.700 6.800v4m2.600-4v4',
	plus: 'M8 3v10M3 8h10',
	more: 'M3.500 8h.01M8 8h.01M12.500 8h.01',
	close: 'M4 4l8 8m0-8-8 8',
	copy: 'M5.500 5.500h8v8h-8zM10.500 5.500v-3h-8v8h3',
	check: 'M3 8.500 6.500 12 13 4.500',
	folder: 'M2 4h4l1.500 1.500H14v7.500H2z',
	file: 'M4 2h5l3 3v9H4zM9 2v3h3',
	link: 'M6.500 9.500l3-3M7 4.500l1.300-1.300a2.800 2.800 0 0 1 4 4L11 8.500M9 11.500l-1.300 1.300a2.800 2.800 0 0 1-4-4L5 7.500',
	chevron: 'M6 3.500 10.500 8 6 12.500',
	down: 'M3.500 6 8 10.500 12.500 6',
	up: 'M8 13V3M4 7l4-4 4 4',
	download: 'M8 2.500v8M4.500 7.500 8 11l3.500-3.500M3 13.500h10',
	upload: 'M8 11V3M4.500 6.500 8 3l3.500 3.500M3 13.500h10',
	refresh: 'M13 8a5 5 0 1 1-1.500-3.600M13 2.500v3h-3',
	sun: 'M8 10.800a2.800 2.800 0 1 0 0-5.600 2.800 2.800 0 0 0 0 5.600zM8 1.500v1.400m0 10.200v1.400M1.500 8h1.400m10.200 0h1.400M3.400 3.400l1 1m7.200 7.200 1 1m0-9.200-1 1m-7.200 7.200-1 1',
	moon: 'M13.500 9.500A6 6 0 0 1 6.500 2.500a6 6 0 1 0 7 7z',
	user: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.500 14c0-5.300 11-5.300 11 0',
	menu: 'M2.500 4h11m-11 4h11m-11 4h11',
	open: 'M6.500 3.500h-4v10h10v-4M9 2.500h4.500V7M13 3 7.500 8.500',
	clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.800V8l2.200 1.500',
	edit: 'M10.500 3 13 5.500 5.500 13H3v-2.500z',
	terminal: 'M2 3h12v10H2zM4.500 6 7 8l-2.500 2M8.500 10.500H11',
	lock: 'M4 7.500h8V14H4zM5.500 7.500V5a2.500 2.500 0 0 1 5 0v2.500',
	exit: 'M9.500 2.500h-6v11h6M6.500 8H14m-2.500-2.500L14 8l-2.500 2.500',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
	return (
		<svg
			width={size}
			height={size}
			viewBox="0 0 16 16"
			fill="none"
			stroke="currentColor"
			aria-hidden="true"
		>
			<path
				d={PATHS[name]}
				stroke-width={name === 'more' ? 2.2 : 1.35}
				stroke-linecap="round"
				stroke-linejoin="round"
			/>
		</svg>
	)
}

export function Logo({ size = 24 }: { size?: number }) {
	return (
		<svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
			<rect width="32" height="32" rx="8" fill="#0e7c86" />
			<path
				d="M16 6a10 10 0 1 1-7.4 16.7"
				fill="none"
				stroke="#fff"
				stroke-width="3.4"
				stroke-linecap="round"
			/>
			<circle cx="9.300" cy="13" r="2.300" fill="#ffd27a" />
			<circle cx="16" cy="16.400" r="2.600" fill="#fff" opacity=".9" />
		</svg>
	)
}
