import type { Clock } from "../../clock.js"
import { type RuleChange, type RuleTable, ruleLimits } from "../../store.js"
import type { RedisClient } from "./client.js"
import { ownScript } from "./own-script.js"

/** Keeps rules in a hash and a list beside the state, whose hash tags are numbers. They do not expire. */
export function redisRules(client: RedisClient, prefix: string, clock: Clock | undefined): RuleTable {
  const run = ownScript(client, "rules", [`${prefix}:{rules}now`, `${prefix}:{rules}log`])
  return {
    async read(epoch, version) {
      const [now, newEpoch, newVersion, isFull, ...rest] = await run("read", epoch, String(version))
      const texts = rest.map(String)
      return {
        now: clock === undefined ? Number(now) : clock(),
        epoch: String(newEpoch),
        version: Number(newVersion),
        isFull: Number(isFull) === 1,
        entries: Number(isFull) === 1 ? pairs(texts) : texts.map(parseEntry).reverse(),
      }
    },
    async write(epoch, changes: readonly RuleChange[]) {
      const { MOST_RULES, MOST_HISTORY } = ruleLimits
      const args = changes.flatMap(({ field, value, note }) => [
        field,
        value,
        JSON.stringify({ field, value, ...note }),
      ])
      const [version] = await run("write", epoch, String(MOST_RULES), String(MOST_HISTORY), ...args)
      return Number(version)
    },
    async history(count) {
      return (await run("history", String(count))).map((text) => parseEntry(String(text)))
    },
  }
}

/** Fields and values of the hash, without its version and epoch. */
function pairs(texts: readonly string[]) {
  const entries: { field: string; value: string }[] = []
  for (let i = 0; i < texts.length; i += 2) {
    const field = texts[i] as string
    if (field !== "version" && field !== "epoch") entries.push({ field, value: texts[i + 1] as string })
  }
  return entries
}

/** An entry of the list: version, time in ms, JSON. */
function parseEntry(text: string) {
  const [, version, at, json] = /^(\d+) (\d+) (.*)$/s.exec(text) ?? []
  return { ...(JSON.parse(json as string) as RuleChange), version: Number(version), at: Number(at) }
}
