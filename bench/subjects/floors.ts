import type { Connecting } from "../redis.js"
import { plenty, type Subject, serial } from "../subject.js"

function passed(reply: unknown): boolean {
  if (reply instanceof Error) throw reply
  return true
}

/** What a call to Redis costs at the least: the shortest command that counts, by the same client. */
export async function incr(on: Connecting, times = 1): Promise<Subject> {
  const client = await on.connect()
  const prefixes = Array.from({ length: times }, () => `incr${serial()}:`)
  const [prefix] = prefixes as [string]
  return {
    name: times === 1 ? "INCR (floor)" : `${times} INCR (floor)`,
    decide:
      times === 1
        ? (key) => client.incr(prefix + key)
        : (key) => Promise.all(prefixes.map((each) => client.incr(each + key))),
    passed,
    async close() {
      client.disconnect()
    },
  }
}

/** A bucket in as few lines as it takes; in floating point, and it explains nothing. */
const gcra = `
local now = redis.call("TIME")
now = now[1] * 1000000 + now[2]
local step, depth = tonumber(ARGV[1]), tonumber(ARGV[2])
local full = math.max(tonumber(redis.call("GET", KEYS[1]) or now), now) + step
if full - now > depth then return 0 end
redis.call("SET", KEYS[1], string.format("%.0f", full), "PX", math.ceil((full - now) / 1000))
return 1
`

/** What a decision by script costs at the least when each has a call of its own. */
export async function evalsha(on: Connecting): Promise<Subject> {
  const client = await on.connect()
  const prefix = `gcra${serial()}:`
  const step = 100_000
  client.defineCommand("gcra", { numberOfKeys: 1, lua: gcra })
  const { gcra: run } = client as unknown as {
    gcra(key: string, step: number, depth: number): Promise<number>
  }
  const decide = run.bind(client)
  return {
    name: "EVALSHA (floor)",
    decide: (key) => decide(prefix + key, step, step * plenty),
    passed: (reply) => passed(reply) && reply === 1,
    async close() {
      client.disconnect()
    },
  }
}
