import { type RuleChange, type RuleEntry, type RuleTable, ruleLimits } from "../store.js"

/** Keeps rules in this process, for a store that keeps none. */
export function memoryRules(clock: () => number): RuleTable {
  const rules = new Map<string, string>()
  const log: RuleEntry[] = []
  let version = 0
  return {
    async read(epoch, known) {
      const behind = epoch === "memory" ? version - known : -1
      const isFull = behind < 0 || behind > log.length
      const all = () => [...rules].map(([field, value]): RuleChange => ({ field, value }))
      const entries = isFull ? all() : log.slice(0, behind).reverse()
      return { now: clock(), epoch: "memory", version, isFull, entries }
    },
    async write(_, changes) {
      if (rules.size + changes.length > ruleLimits.MOST_RULES) return -1
      for (const change of changes) {
        version += 1
        if (change.value === "") rules.delete(change.field)
        else rules.set(change.field, change.value)
        log.unshift({ ...change, version, at: clock() })
      }
      log.length = Math.min(log.length, ruleLimits.MOST_HISTORY)
      return version
    },
    history: async (count) => log.slice(0, count).map(({ note, ...entry }) => ({ ...entry, ...note })),
  }
}
