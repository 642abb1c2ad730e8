export type { Algorithm, Cells, Explanation, Level } from "./algorithm.js"
export { type AnyAlgorithm, type Counting, countingOf, termsOf } from "./algorithms/index.js"
export type { Clock } from "./clock.js"
export type { Decision, PolicyDecision } from "./decision.js"
export type { Duration } from "./duration.js"
export { type ErrorCode, SluiceError } from "./errors.js"
export type { LeaseOptions } from "./layers/lease-terms.js"
export {
  type AcquireOptions,
  type AskOptions,
  type CallOptions,
  createLimiter,
  type Limiter,
  type LimiterOptions,
  type Reservation,
  type ReserveOptions,
  type TryAcquireOptions,
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
export type { Answer, Ask, Layers, Leases, Mode, Part, Settlement, Store, Turn } from "./store.js"
export { type MemoryStore, type MemoryStoreOptions, memoryStore } from "./stores/memory/memory-store.js"
export type { Signal, WaitOptions } from "./waiting/terms.js"
