import { debt } from "./debt.js"
import { givenBack } from "./given-back.js"
import type { ConformanceCase } from "./rig.js"
import { spending } from "./spending.js"
import { state } from "./state.js"
import { time } from "./time.js"
import { turns } from "./turns.js"

/**
 * The requirements on every store, law by law. Each case runs on a fresh rig, under any test runner:
 * `for (const { name, run } of conformance) test(name, async () => run(await freshRig()))`.
 */
export const conformance: readonly ConformanceCase[] = [
  ...spending,
  ...time,
  ...state,
  ...turns,
  ...givenBack,
  ...debt,
].sort((a, b) => a.law - b.law)
