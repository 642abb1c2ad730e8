export type {
  ClientLimiter,
  ClientRequestOptions,
  ClientReserveOptions,
  ClientTryAcquireOptions,
} from "./client-limiter.js"
export type { ClientRules } from "./client-rules.js"
export { type Client, type ClientOptions, createClient, type LimiterInfo } from "./create-client.js"
