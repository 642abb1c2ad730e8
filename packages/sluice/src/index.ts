export * from "./algorithms/registry.js"
export type { Clock } from "./clock.js"
export {
  type Claim,
  type Combined,
  type CombinedAmount,
  type CombinedPending,
  type CombinedReservation,
  combine,
} from "./combine.js"
export { createLimiter } from "./create-limiter.js"
export type { Decision, PolicyDecision } from "./decision.js"
export type { Duration } from "./duration.js"
export { type ErrorCode, SluiceError } from "./errors.js"
export type { InspectedPolicy, InspectedReservation, InspectedState, Inspection } from "./inspect.js"
export type { LeaseOptions } from "./layers/lease-options.js"
export type { Health } from "./layers/outage.js"
export type { OutageChange, OutageOptions, OutagePolicy } from "./layers/outage-options.js"
export type {
  AcquireOptions,
  CallOptions,
  InspectOptions,
  Limiter,
  LimiterOptions,
  RequestOptions,
  Reservation,
  ReserveOptions,
  RuleSource,
  TryAcquireOptions,
} from "./limiter.js"
export type { LimiterMode } from "./mode.js"
export type { Amount, Cost, NameOf, Policies } from "./policies.js"
export type { Pending } from "./reservation.js"
export type { Store } from "./store.js"
export { type MemoryStore, type MemoryStoreOptions, memoryStore } from "./stores/memory/memory-store.js"
export type { Signal, WaitOptions } from "./waiting/wait-options.js"
