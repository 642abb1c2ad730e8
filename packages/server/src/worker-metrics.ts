import cluster, { type Worker } from "node:cluster"
import { AggregatorRegistry, type Registry } from "prom-client"

/** Milliseconds that a worker has to send its metrics. A worker that is busy for longer is left out. */
const PATIENCE = 1_000

/** These are the same in all workers, or are 1 in those that have a problem. All other metrics of Sluice are added up. */
const levels = new Set(["sluice_policy_limit", "sluice_breaker_state", "sluice_rule_count"])

/** Messages between the workers of `serve --workers` and their parent. `id` tells which answer belongs to which question. */
type Message =
  /** A worker wants the metrics of all of them. The parent answers with `all`. */
  | { readonly sluice: "gather"; readonly id: number }
  | { readonly sluice: "all"; readonly id: number; readonly metrics: object[] }
  /** The parent wants the metrics of one worker, which answers with `own`. */
  | { readonly sluice: "collect"; readonly id: number }
  | { readonly sluice: "own"; readonly id: number; readonly metrics: object }

/** In the parent: collects the metrics of all workers when one of them wants them. */
export function shareMetrics(workers: () => Iterable<Worker>): void {
  let questions = 0
  const open = new Map<number, (metrics: object) => void>()
  const collect = (worker: Worker) =>
    new Promise<object[]>((resolve) => {
      questions += 1
      const id = questions
      const end = (all: object[]) => {
        clearTimeout(timer)
        open.delete(id)
        resolve(all)
      }
      const timer = setTimeout(end, PATIENCE, [])
      open.set(id, (metrics) => end([metrics]))
      send(worker, { sluice: "collect", id })
    })
  cluster.on("message", async (asker: Worker, message: Message) => {
    if (message.sluice === "own") open.get(message.id)?.(message.metrics)
    if (message.sluice !== "gather") return
    const all = await Promise.all([...workers()].map(collect))
    send(asker, { sluice: "all", id: message.id, metrics: all.flat() })
  })
}

/** In a worker: returns a function that adds up the metrics of all workers, as text. */
export function gatherMetrics(registry: Registry): () => Promise<string> {
  let questions = 0
  const open = new Map<number, (metrics: object[]) => void>()
  process.on("message", async (message: Message) => {
    if (message.sluice === "all") open.get(message.id)?.(message.metrics)
    if (message.sluice !== "collect") return
    const metrics = (await registry.getMetricsAsJSON()).map((metric) =>
      levels.has(metric.name) ? { ...metric, aggregator: "max" } : metric,
    )
    process.send?.({ sluice: "own", id: message.id, metrics } satisfies Message)
  })
  return async () => {
    questions += 1
    const id = questions
    const all = await new Promise<object[]>((resolve) => {
      open.set(id, resolve)
      process.send?.({ sluice: "gather", id } satisfies Message)
    })
    open.delete(id)
    return AggregatorRegistry.aggregate(all).metrics()
  }
}

function send(worker: Worker, message: Message): void {
  // A worker that has just ended says so by its exit.
  if (worker.isConnected()) worker.send(message, () => {})
}
