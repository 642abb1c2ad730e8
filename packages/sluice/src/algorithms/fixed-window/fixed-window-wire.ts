import type { WireFormat } from "../policy-kind.js"
import type { FixedWindowParameters } from "./fixed-window.js"

const fixedWindow: WireFormat<FixedWindowParameters> = {
  luaName: "fixed_window",
  luaParameters: ({ limit, window, aligned }) => ({ limit, window, aligned }),
  work: 4,
}

export default { fixedWindow }
