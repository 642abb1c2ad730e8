import { Counter, type Registry } from "prom-client"

const NAME = "sluice_envoy_descriptor_total"
const MOST_SERIES = 1_000
/** Longer descriptors count as "other", so that clients who make up values cannot fill the memory. */
const LONGEST_LABEL = 256

export type MetricCode = "OK" | "OVER_LIMIT" | "SHADOW_OVER_LIMIT"

/** Counts the outcomes of a descriptor. */
export type CountDescriptor = (domain: string, descriptor: string, code: MetricCode) => void

const counters = new WeakMap<Registry, CountDescriptor>()

/** The counter of descriptors in a registry. It has at most 1,000 series. Then new descriptors count as "other". */
export function descriptorCounter(metrics: Registry): CountDescriptor {
  const known = counters.get(metrics)
  if (known !== undefined) return known
  const counter = new Counter({
    name: NAME,
    help: "Descriptors of Envoy's rate limit protocol that a rule applied to, by outcome.",
    labelNames: ["domain", "descriptor", "code"],
    registers: [metrics],
  })
  const series = new Map<string, { inc(): void }>()
  const seriesOf = (domain: string, descriptor: string, code: MetricCode): { inc(): void } => {
    const id = JSON.stringify([domain, descriptor, code])
    const child = series.get(id)
    if (child !== undefined) return child
    const isTooMany = series.size >= MOST_SERIES || descriptor.length > LONGEST_LABEL
    if (isTooMany && descriptor !== "other") return seriesOf(domain, "other", code)
    const created = counter.labels(domain, descriptor, code)
    series.set(id, created)
    return created
  }
  const count: CountDescriptor = (...labels) => seriesOf(...labels).inc()
  counters.set(metrics, count)
  return count
}
