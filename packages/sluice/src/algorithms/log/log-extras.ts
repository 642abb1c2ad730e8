import type { Extras } from "../policy-kind.js"
import type { LogParameters } from "./log-state.js"

const log: Extras<LogParameters> = {
  luaName: "log",
  luaParameters: ({ limit, window, merge }) => ({ limit, window, merge }),
  work: 10,
  describe: ([at = 0, total = 0, till = 0, lead = 0]) => ({
    newestAt: at / 1_000,
    total,
    neededUntil: till,
    lastTurnAt: lead > 0 ? at / 1_000 : 0,
  }),
}

export default { slidingLog: log, slidingWindow: log }
