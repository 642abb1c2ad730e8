import type { SluiceEvent } from "../events.js"
import { listen } from "./hub.js"
import { type Instrument, type InstrumentName, instruments } from "./instruments.js"
import { Metrics } from "./metrics.js"

type Attributes = Record<string, string | number | boolean>

interface Observable {
  addCallback(callback: (result: { observe(value: number, attributes?: Attributes): void }) => void): void
  removeCallback(callback: (result: { observe(value: number, attributes?: Attributes): void }) => void): void
}

interface InstrumentOptions {
  description?: string
  unit?: string
  advice?: { explicitBucketBoundaries?: number[] }
}

/** The part of a `Meter` of `@opentelemetry/api` that is used. */
export interface OpenTelemetryMeter {
  createObservableCounter(name: string, options?: InstrumentOptions): Observable
  createObservableUpDownCounter(name: string, options?: InstrumentOptions): Observable
  createObservableGauge(name: string, options?: InstrumentOptions): Observable
  createHistogram(
    name: string,
    options?: InstrumentOptions,
  ): { record(value: number, attributes?: Attributes): void }
}

/** The part of a `Span` of `@opentelemetry/api` that is used. */
export interface OpenTelemetrySpan {
  setAttributes(attributes: Attributes): unknown
}

export interface OpenTelemetryOptions {
  /** Finds the span that a decision belongs to: `() => trace.getActiveSpan()`. Decisions then set its attributes. */
  readonly activeSpan?: (() => OpenTelemetrySpan | undefined) | undefined
}

/**
 * Reports all metrics of this process to a meter: `openTelemetry(metrics.getMeter("sluice"))`. With `activeSpan`, each
 * decision sets `sluice.limiter`, `sluice.policy`, `sluice.outcome`, `sluice.source` and `sluice.degraded` on the span.
 * Returns how to stop.
 */
export function openTelemetry(
  meter: OpenTelemetryMeter,
  { activeSpan }: OpenTelemetryOptions = {},
): () => void {
  const metrics = new Metrics()
  const stops: (() => void)[] = []
  const histograms = new Map<InstrumentName, ReturnType<OpenTelemetryMeter["createHistogram"]>>()
  for (const [key, instrument] of Object.entries(instruments)) {
    const name = key as InstrumentName
    if (instrument.kind === "histogram") {
      histograms.set(name, meter.createHistogram(instrument.name, optionsOf(instrument)))
      continue
    }
    const observable = observableOf(meter, instrument)
    const callback = (result: { observe(value: number, attributes?: Attributes): void }) => {
      for (const { labels, value } of metrics.points(name)) {
        result.observe(value as number, attributesOf(labels))
      }
    }
    observable.addCallback(callback)
    stops.push(() => observable.removeCallback(callback))
  }

  const sample = (name: InstrumentName, value: number, labels: Readonly<Record<string, string>> = {}) =>
    histograms.get(name)?.record(value, attributesOf(labels))

  stops.push(
    listen((event) => {
      metrics.record(event)
      recordSample(event, sample)
      if (event.type === "decision") activeSpan?.()?.setAttributes(spanAttributes(event))
    }),
  )
  return () => {
    for (const stop of stops) stop()
  }
}

/** The attributes of a decision on a span. It never contains the key. */
export function spanAttributes(event: Extract<SluiceEvent, { type: "decision" }>): Attributes {
  const { limiter, outcome, decision, error } = event
  return {
    "sluice.limiter": limiter,
    "sluice.outcome": outcome,
    ...(decision && {
      "sluice.policy": decision.policy,
      "sluice.source": decision.source,
      "sluice.degraded": decision.degraded,
    }),
    ...(error && { "error.type": error }),
  }
}

function recordSample(
  event: SluiceEvent,
  sample: (name: InstrumentName, value: number, labels?: Readonly<Record<string, string>>) => void,
): void {
  switch (event.type) {
    case "decision":
      if (event.duration !== undefined)
        sample("decisionDuration", event.duration / 1_000, { limiter: event.limiter })
      break
    case "store":
      sample("storeDuration", event.duration / 1_000, { call: event.call, "error.type": event.error ?? "" })
      break
    case "batch":
      sample("batchSize", event.requests)
      break
    case "wait": {
      const { limiter, duration, result = "error" } = event
      if (duration !== undefined) sample("waitDuration", duration / 1_000, { limiter, result })
      break
    }
    case "reservation":
      if (event.ratio !== undefined) sample("reservationError", event.ratio, { limiter: event.limiter })
      break
  }
}

function optionsOf({ help, unit, bounds }: Instrument): InstrumentOptions {
  const advice = bounds && { explicitBucketBoundaries: [...bounds] }
  return { description: help, unit, ...(advice && { advice }) }
}

function observableOf(meter: OpenTelemetryMeter, instrument: Instrument): Observable {
  const options = optionsOf(instrument)
  if (instrument.kind === "counter") return meter.createObservableCounter(instrument.name, options)
  if (instrument.kind === "updown") return meter.createObservableUpDownCounter(instrument.name, options)
  return meter.createObservableGauge(instrument.name, options)
}

/** Our own attributes have our prefix; `error.type` is a convention, and is left out where nothing failed. */
function attributesOf(labels: Readonly<Record<string, string>>): Attributes {
  const attributes: Attributes = {}
  for (const [name, value] of Object.entries(labels)) {
    if (name !== "error.type") attributes[`sluice.${name}`] = value
    else if (value !== "") attributes[name] = value
  }
  return attributes
}
