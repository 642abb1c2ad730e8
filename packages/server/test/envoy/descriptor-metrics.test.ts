import { Registry } from "prom-client"
import { expect, test } from "vitest"
import { descriptorCounter } from "../../src/envoy/descriptor-metrics.js"
import { shouldRateLimit } from "../../src/envoy/should-rate-limit.js"
import { contextOf } from "../grpc/support/rls-server.js"

const valuesOf = async (metrics: Registry) => {
  const [metric] = await metrics.getMetricsAsJSON()
  const values = metric?.values as { value: number; labels: Record<string, string> }[]
  return values.map(({ value, labels }) => [labels["domain"], labels["descriptor"], labels["code"], value])
}

test("descriptors are counted by rule and outcome, and by value where a rule asks for it", async () => {
  const { context, engine } = contextOf(`
domain: d
descriptors:
  - { key: k, rate_limit: { unit: year, requests_per_unit: 1 } }
  - { key: detailed, detailed_metric: true, rate_limit: { unit: year, requests_per_unit: 1 } }
  - { key: shadow, shadow_mode: true, rate_limit: { unit: year, requests_per_unit: 0 } }
  - { key: free, rate_limit: { unlimited: true } }
`)
  const keys = ["k", "detailed", "shadow", "free", "unknown"]
  const descriptors = keys.map((key) => ({ entries: [{ key, value: "v" }], isNegativeHits: false }))
  for (const descriptor of [...descriptors, ...descriptors]) {
    await shouldRateLimit(context, { domain: "d", descriptors: [descriptor], hitsAddend: 0 })
  }
  expect(await valuesOf(context.metrics)).toEqual([
    ["d", "k", "OK", 1],
    ["d", "detailed=v", "OK", 1],
    ["d", "shadow", "SHADOW_OVER_LIMIT", 2],
    ["d", "free", "OK", 2],
    ["d", "k", "OVER_LIMIT", 1],
    ["d", "detailed=v", "OVER_LIMIT", 1],
  ])
  await engine.close()
})

test("after 1,000 series, new descriptors count as other, and so do long ones", async () => {
  const metrics = new Registry()
  const count = descriptorCounter(metrics)
  count("d", "x".repeat(300), "OK")
  for (let i = 0; i < 1_500; i += 1) count("d", `v${i}`, "OK")
  const values = await valuesOf(metrics)
  expect(values).toHaveLength(1_000)
  expect(values.find(([, descriptor]) => descriptor === "other")).toEqual(["d", "other", "OK", 502])
})
