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
export { type ObservedPolicy, type ObserveReport, observeReport } from "./observe-report.js"
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
  type MergedTopKeys,
  mergeTopKeys,
  type TopKeys,
  type TopKeysOptions,
  type TopKeysReport,
  topKeys,
} from "./top-keys.js"
export type { SketchOptions, TopList } from "./top-list.js"
