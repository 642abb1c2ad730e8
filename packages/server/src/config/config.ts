import type { LeaseOptions, LimiterMode, OutageOptions, Policies } from "sluice"
import type { HeaderForm } from "sluice/http"

/** Everything that configuration files say, checked. */
export interface Config {
  readonly listen: { readonly http: Address | undefined; readonly grpc: Address | undefined }
  readonly admin: { readonly token: string | undefined }
  readonly store: StoreConfig
  readonly limiters: ReadonlyMap<string, LimiterConfig>
  readonly domains: ReadonlyMap<string, Domain>
  readonly http: HttpConfig
  /** Whether responses to Envoy carry headers for its client, and under which names. */
  readonly envoy: { readonly responseHeaders: ResponseHeaders | false }
  readonly log: { readonly level: LogLevel }
  /** For limiters that say nothing of their own, and for the limits of domains. */
  readonly outage: LimiterConfig["outage"]
}

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent"

export interface Address {
  readonly host: string
  /** 0 takes a free port. */
  readonly port: number
}

export interface HttpConfig {
  /** How long the server works on after SIGTERM while its health checks fail, in milliseconds. */
  readonly shutdownDelay: number
  /** How long a drain may take after that, in milliseconds. */
  readonly drain: number
  readonly headers: HeaderForm
}

/** The names of headers. */
export interface ResponseHeaders {
  readonly limit: string
  readonly remaining: string
  readonly reset: string
}

export type StoreConfig =
  | { readonly type: "memory"; readonly maxKeys: number | undefined }
  | {
      readonly type: "redis"
      readonly servers:
        | { readonly url: string }
        | { readonly cluster: readonly string[] }
        | { readonly sentinel: SentinelConfig }
      readonly prefix: string | undefined
      readonly delivery: "function" | "script" | undefined
    }

export interface SentinelConfig {
  readonly name: string
  readonly nodes: readonly Address[]
  /** Of the master. */
  readonly password: string | undefined
  readonly sentinelPassword: string | undefined
}

/** A limiter as it is configured. The fields are options of `createLimiter`. */
export interface LimiterConfig {
  readonly policy: Policies
  readonly mode: LimiterMode
  readonly lease: boolean | LeaseOptions
  readonly outage: Pick<OutageOptions, "deadline" | "then">
  readonly maxWait: number | undefined
  readonly maxWaiters: number | undefined
}

/** A domain of Envoy's rate limit protocol. */
export interface Domain {
  readonly name: string
  readonly descriptors: readonly DescriptorRule[]
}

/** A level of nested descriptors: an entry of a request that matches, and what applies to it. */
export interface DescriptorRule {
  readonly key: string
  /** Undefined matches every value. A star matches any characters. */
  readonly value: string | undefined
  readonly limit: DescriptorLimit | undefined
  readonly shadowMode: boolean
  readonly quotaMode: boolean
  readonly detailedMetric: boolean
  readonly valueToMetric: boolean
  /** All values that a wildcard matches share one counter. */
  readonly shareThreshold: boolean
  readonly metadata: Readonly<Record<string, unknown>> | undefined
  readonly descriptors: readonly DescriptorRule[]
}

export type EnvoyUnit = "second" | "minute" | "hour" | "day" | "week" | "month" | "year"

/** What applies to a descriptor. Envoy's format has limits, "unlimited", and 0 requests per unit, which denies everything. */
export type DescriptorLimit = {
  /** By this name, other rules replace this one. */
  readonly name: string | undefined
  readonly replaces: readonly string[]
} & (
  | { readonly kind: "unlimited" }
  | { readonly kind: "blocked"; readonly unit: EnvoyUnit }
  | {
      readonly kind: "policy"
      /** The name of its limiter, unique over all domains: `domain/key=value/key`. */
      readonly limiter: string
      readonly policy: Policies
      /** Hits of a denied request count too, into debt, as in Envoy's own server. */
      readonly countDenied: boolean
    }
)
