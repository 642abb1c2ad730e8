import type { Extras } from "../policy-kind.js"
import type { FixedWindowParameters } from "./fixed-window.js"

const fixedWindow: Extras<FixedWindowParameters> = {
  luaName: "fixed_window",
  luaParameters: ({ limit, window, aligned }) => ({ limit, window, aligned }),
  work: 4,
  describe: ([stop = 0, start = 0, used = 0, booked = 0]) => ({
    opensAt: start / 1_000,
    endsAt: stop / 1_000,
    used,
    lastTurnAt: (booked * start) / 1_000,
  }),
}

export default { fixedWindow }
