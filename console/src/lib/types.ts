// SPDX-License-Identifier: Apache-2.0
// What the API answers with, as far as the console reads it.
export type State = 'running' | 'paused'

export type Sandbox = {
	sandboxID: string
	templateID: string
	alias?: string
	state: State
	startedAt: string
	endAt: string
	createdAt?: string
	lastActivityAt?: string
	cpuCount: number
	memoryMB: number
	diskSizeMB: number
	metadata?: Record<string, string>
	envdVersion: string
	envdAccessToken?: string | null
	trafficAccessToken?: string | null
	domain?: string | null
	teamID?: string
	keyID?: string
	parentID?: string // the sandbox that it is a copy of, by a fork or a snapshot
	timeoutSeconds?: number
	pausedMemory?: 'ram' | 'ram+disk' | 'disk' | 'none' | 'lost'
	pausedMemoryReason?: string
	network?: Network
	allowInternetAccess?: boolean | null
	limits?: Limits
	volumeMounts?: { name: string; path: string }[]
	lifecycle?: { onTimeout?: string; autoResume?: boolean }
}

export type Network = {
	allowOut?: string[]
	denyOut?: string[]
	rules?: Record<string, unknown>
	allowPublicTraffic?: boolean
	egressProxy?: { address: string } | null
	httpsPorts?: number[]
}

export type Limits = Record<string, number | null>
export type LimitsAnswer = { limits: Limits; maxima: Limits; used: Record<string, number> }

export type Metric = {
	timestamp: string
	timestampUnix: number
	cpuUsedPct: number
	cpuCount: number
	memUsed: number
	memTotal: number
	memCache?: number
	diskUsed: number
	diskTotal: number
	processCount?: number
}

export type LogEntry = { timestamp: string; level: string; message: string; fields: Record<string, string> }

export type Template = {
	templateID: string
	buildID: string
	aliases?: string[]
	names?: string[]
	cpuCount: number
	memoryMB: number
	diskSizeMB: number
	public: boolean
	createdAt: string
	updatedAt: string
	lastSpawnedAt?: string | null
	spawnCount?: number
	buildCount?: number
	buildStatus?: string
	envdVersion?: string
}

export type Build = {
	buildID: string
	status: string
	createdAt: string
	updatedAt: string
	finishedAt?: string
	cpuCount: number
	memoryMB: number
	diskSizeMB?: number
}

export type Key = {
	id: string
	name: string
	mask: { prefix: string; maskedValuePrefix: string; maskedValueSuffix: string }
	createdAt: string
	lastUsed: string | null
	admin: boolean
	expiresAt: string | null
	role?: string
	quota?: Quota | null
	usage?: Record<string, number>
	key?: string
}

export type Quota = {
	maxSandboxes?: number | null
	createsPerMinute?: number | null
	cpuSecondsPerDay?: number | null
	egressMBPerDay?: number | null
}

export type Team = {
	teamID: string
	name: string
	isDefault: boolean
	blocked: boolean
	createdAt: string
	maxSandboxes: number | null
	rateLimit: number | null
	runningSandboxes: number
	keys: number
	quota?: Quota | null
	usage?: Record<string, number>
}

export type Volume = {
	volumeID: string
	name: string
	token?: string
	sizeMB: number
	usedBytes?: number
	createdAt: string
	sandboxes: number | string[]
}

export type Snapshot = {
	snapshotID: string
	names?: string[]
	memory?: boolean
	sandboxID?: string
	createdAt?: string
}

export type Webhook = {
	id: string
	name: string
	url: string
	events: string[]
	enabled: boolean
	waiting: number
	createdAt: string
	signatureSecret?: string
}

export type AuditRecord = {
	seq: number
	time: string
	kind: string
	request: string
	team: string
	key: string
	sandbox: string
	session: string
	fields: Record<string, unknown>
	prev: string
	hash: string
	mac: string
	text?: unknown
}
