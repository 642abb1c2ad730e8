import { randomUUID } from "node:crypto"
import type { Cluster, Redis } from "ioredis"
import { createLimiter, fixedWindow } from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { type Asked, ask } from "./ask.js"
import { type Finding, finding } from "./finding.js"
import { checkLibrary } from "./library-check.js"
import { latencyFinding, measure } from "./measure.js"
import { checkRights, probeRights } from "./rights.js"

/** The library, the rights to call it, and how long calls take. */
export async function examineCalls(
  client: Redis | Cluster,
  nodes: readonly Asked[],
  { prefix, isReplica }: { prefix: string; isReplica: boolean },
): Promise<Finding[]> {
  const id = randomUUID()
  const states = await Promise.all(nodes.map((node) => checkLibrary(node)))
  const isLoaded = states.every((state) => state.isLoaded)
  const rights = await probeRights(client as Redis, prefix, id)
  const findings = [
    ...((states.find((state) => !state.isLoaded) ?? states[0])?.findings ?? []),
    ...checkRights(rights, { isLoaded, prefix }),
  ]
  const canPing = (await ask(nodes[0] as Asked, "PING")).error === undefined
  if (canPing) findings.push(latencyFinding("PING", await measure(() => (nodes[0] as Asked).call("PING"))))
  if (isReplica) return [...findings, finding("decision", "skipped", "a replica decides nothing")]
  return [...findings, await tryDecision(client, { prefix, id, delivery: isLoaded ? "function" : "script" })]
}

/** Times real decisions on a key that expires within two seconds. Scripts leave no library behind. */
async function tryDecision(
  client: Redis | Cluster,
  { prefix, id, delivery }: { prefix: string; id: string; delivery: "function" | "script" },
): Promise<Finding> {
  const store = redisStore(ioredis(client), { prefix, delivery, denyCache: false })
  const policy = fixedWindow({ limit: 1_000_000, window: "1s" })
  const limiter = createLimiter({ name: "sluice-doctor", policy, store, outage: { deadline: "5s" } })
  try {
    const latency = await measure(() => limiter.tryAcquire(id))
    return latencyFinding(`a decision by ${delivery}`, latency)
  } catch (error) {
    return finding(
      "decision",
      "problem",
      `a decision failed: ${(error as Error).message}`,
      "Solve the other problems first.",
    )
  } finally {
    await limiter.close()
  }
}
