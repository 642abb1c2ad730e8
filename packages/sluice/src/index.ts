export type { Algorithm, Cells, Explanation, Level, Numbers } from "./algorithm.js"
export { type AnyAlgorithm, type Counting, countingOf, termsOf } from "./algorithms/index.js"
export type { Clock } from "./clock.js"
export { type Claim, type Combined, combine } from "./combine.js"
export { createLimiter } from "./create-limiter.js"
export type { Decision, PolicyDecision } from "./decision.js"
export type { Duration } from "./duration.js"
export { type ErrorCode, SluiceError } from "./errors.js"
export type { LeaseOptions } from "./layers/lease-terms.js"
export type { OutageChange, OutageOptions, OutagePolicy } from "./layers/outage-terms.js"
export type {
  AcquireOptions,
  AskOptions,
  CallOptions,
  Limiter,
  LimiterOptions,
  Reservation,
  ReserveOptions,
  TryAcquireOptions,
} from "./limiter.js"
export type { Cost, NameOf, Policies } from "./policies.js"
export {
  type FixedWindow,
  fixedWindow,
  type LeakyBucket,
  leakyBucket,
  type Policy,
  type SlidingLog,
  type SlidingWindow,
  slidingLog,
  slidingWindow,
  type TokenBucket,
  tokenBucket,
} from "./policy.js"
export type { Pending } from "./reservation.js"
export { type Place, type Scope, scopeOf, stateKey } from "./state-key.js"
export type {
  Answer,
  Ask,
  Guarded,
  Health,
  Layers,
  Leases,
  Mode,
  Part,
  Settlement,
  Store,
  Turn,
} from "./store.js"
export { type MemoryStore, type MemoryStoreOptions, memoryStore } from "./stores/memory/memory-store.js"
export type { Signal, WaitOptions } from "./waiting/terms.js"
