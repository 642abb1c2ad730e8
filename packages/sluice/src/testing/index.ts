export { conformance } from "./conformance/index.js"
export type { ConformanceCase, Rig } from "./conformance/rig.js"
export { type ManualClock, manualClock } from "./manual-clock.js"
