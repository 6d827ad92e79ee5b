// SPDX-License-Identifier: Apache-2.0
import { Empty, LinkButton } from '../ui/kit'

export function NotFound() {
	return (
		<Empty
			icon="search"
			title="There is no such page"
			text="The address may be mistyped, or your key may not show it."
		>
			<LinkButton to="/">Overview</LinkButton>
		</Empty>
	)
}
