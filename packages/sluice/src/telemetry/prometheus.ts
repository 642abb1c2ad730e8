import { listen } from "./hub.js"
import { type Instrument, type InstrumentName, instruments } from "./instruments.js"
import { Histogram, Metrics, type Point } from "./metrics.js"

/** The part of a `Registry` of prom-client that is used. */
export interface PrometheusRegistry {
  // biome-ignore lint/suspicious/noExplicitAny: the types of prom-client name its own classes
  registerMetric(metric: any): void
  removeSingleMetric(name: string): void
}

interface Value {
  readonly value: number
  readonly labels: Readonly<Record<string, string | number>>
  readonly metricName?: string
}

/**
 * Registers all metrics of this process with a registry of prom-client: `prometheus(register)`. Returns how to stop.
 */
export function prometheus(registry: PrometheusRegistry): () => void {
  const metrics = new Metrics()
  const registered = Object.entries(instruments).map(([name, instrument]) => {
    const metric = {
      name: instrument.prometheus,
      help: instrument.help,
      type: instrument.kind === "updown" ? "gauge" : instrument.kind,
      aggregator: "sum",
      labelNames: instrument.labels.map(labelName),
      reset() {},
      async get() {
        const values = metrics.points(name as InstrumentName).flatMap((point) => valuesOf(instrument, point))
        return { name: metric.name, help: metric.help, type: metric.type, aggregator: "sum", values }
      },
    }
    registry.registerMetric(metric)
    return instrument.prometheus
  })
  const stop = listen(metrics.record)
  return () => {
    stop()
    for (const name of registered) registry.removeSingleMetric(name)
  }
}

/** Prometheus has no dots in names. */
function labelName(label: string): string {
  return label.replaceAll(".", "_")
}

function valuesOf({ prometheus }: Instrument, { labels: given, value }: Point): Value[] {
  const labels = Object.fromEntries(Object.entries(given).map(([name, text]) => [labelName(name), text]))
  if (!(value instanceof Histogram)) return [{ value, labels }]
  let below = 0
  const buckets = [...value.bounds, Number.POSITIVE_INFINITY].map((bound, i) => {
    below += value.counts[i] as number
    const le = bound === Number.POSITIVE_INFINITY ? "+Inf" : bound
    return { metricName: `${prometheus}_bucket`, labels: { le, ...labels }, value: below }
  })
  return [
    ...buckets,
    { metricName: `${prometheus}_sum`, labels, value: value.sum },
    { metricName: `${prometheus}_count`, labels, value: value.count },
  ]
}
