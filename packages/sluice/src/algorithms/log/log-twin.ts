import { levelOf } from "../../algorithm.js"
import type { Twin } from "../twin.js"
import type { LogTerms } from "./log-state.js"

export const logTwin: Twin<LogTerms> = {
  name: "log",

  sent: ({ limit, window, merge, cost }) => ({ limit, window, merge, cost }),

  plain: ({ cost, limit, window, merge }, count) => [count * cost, limit, window, merge],

  width: (_terms, short) => (short ? 3 : 2),

  // another cost waits for another entry to leave
  anyCost: false,

  before: ({ cost }, level, times) => levelOf((level[0] as number) - times * cost, level[1] as number),

  // which entries have left meanwhile is not known: the total stays as it was
  later(_terms, level, us) {
    const reset = Math.max((level[1] as number) - us, 0)
    const wait = level[2]
    return levelOf(level[0] as number, reset, wait === undefined ? undefined : Math.max(wait - us, 0))
  },

  holds: ({ window }) => window,

  units: (_terms, level) => level[0] as number,
}
