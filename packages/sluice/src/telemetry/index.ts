export type {
  BatchEvent,
  BreakerEvent,
  Call,
  DecisionEvent,
  LeaseEvent,
  Outcome,
  ReservationEvent,
  RetryEvent,
  RulesEvent,
  SluiceEvent,
  StoreEvent,
  WaitEvent,
} from "../events.js"
export { channels, publishEvents } from "./diagnostics.js"
export { type EventHandler, type ListenOptions, listen } from "./hub.js"
export {
  type OpenTelemetryMeter,
  type OpenTelemetryOptions,
  type OpenTelemetrySpan,
  openTelemetry,
  spanAttributes,
} from "./opentelemetry.js"
export { type PrometheusRegistry, prometheus } from "./prometheus.js"
export type { Frequent } from "./space-saving.js"
export {
  mergeTopKeys,
  type ObservedPolicy,
  type ObserveReport,
  observeReport,
  type TopKeys,
  type TopKeysOptions,
  type TopKeysReport,
  type TopList,
  topKeys,
} from "./top-keys.js"
