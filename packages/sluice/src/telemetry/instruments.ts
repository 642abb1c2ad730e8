// The names, units and labels of all metrics. docs/metrics.md lists them; a test compares.

export interface Instrument {
  /** By the conventions of OpenTelemetry. */
  readonly name: string
  /** By those of Prometheus. */
  readonly prometheus: string
  readonly kind: "counter" | "gauge" | "updown" | "histogram"
  /** By the conventions of OpenTelemetry: `s`, `1`, or a thing that is counted, in braces. */
  readonly unit: string
  readonly help: string
  readonly labels: readonly string[]
  /** The upper bounds of a histogram's buckets. */
  readonly bounds?: readonly number[]
}

/** Seconds. Those of `db.client.operation.duration`, with finer ones below a millisecond. */
const storeSeconds = [0.0001, 0.00025, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10]
/** Seconds. Those of the rate limits of ASP.NET Core. */
const waitSeconds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

const limiterAndPolicy = ["limiter", "policy"] as const

const define = <K extends string>(instruments: Record<K, Instrument>): Readonly<Record<K, Instrument>> =>
  instruments

export const instruments = define({
  decisions: {
    name: "sluice.decisions",
    prometheus: "sluice_decisions_total",
    kind: "counter",
    unit: "{decision}",
    help: "Decisions by outcome and by who answered",
    labels: [...limiterAndPolicy, "outcome", "source"],
  },
  nearLimit: {
    name: "sluice.near_limit",
    prometheus: "sluice_near_limit_total",
    kind: "counter",
    unit: "{decision}",
    help: "Requests that passed and left at most a fifth of the limit",
    labels: limiterAndPolicy,
  },
  wouldDeny: {
    name: "sluice.would_deny",
    prometheus: "sluice_would_deny_total",
    kind: "counter",
    unit: "{decision}",
    help: "Requests that passed in observe mode and would have been denied or would have waited, by policy",
    labels: limiterAndPolicy,
  },
  failedOpen: {
    name: "sluice.failed_open",
    prometheus: "sluice_failed_open_total",
    kind: "counter",
    unit: "{decision}",
    help: "Requests that passed although the store did not answer",
    labels: limiterAndPolicy,
  },
  cost: {
    name: "sluice.cost",
    prometheus: "sluice_cost_total",
    kind: "counter",
    unit: "{unit}",
    help: "Units that were charged",
    labels: limiterAndPolicy,
  },
  policyLimit: {
    name: "sluice.policy.limit",
    prometheus: "sluice_policy_limit",
    kind: "gauge",
    unit: "{unit}",
    help: "The limit or capacity that the latest decision was made under",
    labels: limiterAndPolicy,
  },
  decisionDuration: {
    name: "sluice.decision.duration",
    prometheus: "sluice_decision_duration_seconds",
    kind: "histogram",
    unit: "s",
    help: "Time until a decision that was not at hand in the process",
    labels: ["limiter"],
    bounds: storeSeconds,
  },
  storeDuration: {
    name: "sluice.store.duration",
    prometheus: "sluice_store_duration_seconds",
    kind: "histogram",
    unit: "s",
    help: "Time until a remote store answered a request",
    labels: ["call", "error.type"],
    bounds: storeSeconds,
  },
  batchSize: {
    name: "sluice.store.batch.size",
    prometheus: "sluice_store_batch_size",
    kind: "histogram",
    unit: "{request}",
    help: "Requests in one call of Redis",
    labels: [],
    bounds: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000],
  },
  retries: {
    name: "sluice.store.retries",
    prometheus: "sluice_store_retries_total",
    kind: "counter",
    unit: "{request}",
    help: "Requests that Redis did not run and that were sent again",
    labels: [],
  },
  waitDuration: {
    name: "sluice.wait.duration",
    prometheus: "sluice_wait_duration_seconds",
    kind: "histogram",
    unit: "s",
    help: "Time that requests waited for their turn, by how that ended",
    labels: ["limiter", "result"],
    bounds: waitSeconds,
  },
  waiterCount: {
    name: "sluice.waiter.count",
    prometheus: "sluice_waiter_count",
    kind: "updown",
    unit: "{waiter}",
    help: "Requests that wait for their turn in this process",
    labels: ["limiter"],
  },
  leaseActive: {
    name: "sluice.lease.active",
    prometheus: "sluice_lease_active",
    kind: "updown",
    unit: "{lease}",
    help: "Blocks of units that this process has taken from the store",
    labels: [],
  },
  reservationActive: {
    name: "sluice.reservation.active",
    prometheus: "sluice_reservation_active",
    kind: "updown",
    unit: "{reservation}",
    help: "Reservations made less reservations settled; one that is never settled stays counted",
    labels: ["limiter"],
  },
  reservationError: {
    name: "sluice.reservation.error",
    prometheus: "sluice_reservation_error_ratio",
    kind: "histogram",
    unit: "1",
    help: "The true cost of a reservation divided by its estimate",
    labels: ["limiter"],
    bounds: [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1, 1.1, 1.5, 2, 5, 10],
  },
  breakerState: {
    name: "sluice.breaker.state",
    prometheus: "sluice_breaker_state",
    kind: "gauge",
    unit: "1",
    help: "1 while the circuit breaker is open and the store is not called, else 0",
    labels: ["limiter"],
  },
  ruleCount: {
    name: "sluice.rule.count",
    prometheus: "sluice_rule_count",
    kind: "gauge",
    unit: "{rule}",
    help: "Rules that this process holds its keys to",
    labels: [],
  },
})

export type InstrumentName = keyof typeof instruments
