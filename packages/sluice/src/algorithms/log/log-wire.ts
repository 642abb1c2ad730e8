import type { WireFormat } from "../policy-kind.js"
import type { LogParameters } from "./log-state.js"

const log: WireFormat<LogParameters> = {
  luaName: "log",
  luaParameters: ({ limit, window, merge }) => ({ limit, window, merge }),
  work: 10,
}

export default { slidingLog: log, slidingWindow: log }
