import { levelOf } from "../../algorithm.js"
import type { Twin } from "../twin.js"
import type { FixedWindowTerms } from "./fixed-window-state.js"

export const fixedWindowTwin: Twin<FixedWindowTerms> = {
  name: "fixedWindow",

  sent: ({ limit, window, aligned, cost }) => ({ limit, window, aligned, cost }),

  plain: ({ cost, limit, window, aligned }, count) => [count * cost, limit, window, aligned],

  width: (_terms, short) => (short ? 3 : 2),

  anyCost: true,

  before: ({ cost }, level, times) => levelOf((level[0] as number) - times * cost, level[1] as number),

  later(_terms, level, us) {
    const left = level[1] as number
    if (left <= us) return levelOf(0, 0, 0)
    return levelOf(level[0] as number, left - us, Math.max((level[2] ?? 0) - us, 0))
  },

  holds: (_terms, level) => level[1] as number,

  // the windows before one that is yet to open are full
  units: ({ limit, window }, [used, , opens = 0]) => (used as number) + limit * Math.ceil(opens / window),
}
