// The list of all algorithms. Everything else that lists policies is derived from it: types, public exports, keys, the wire format,
// inspections, and the server's configuration.

import bucket from "./bucket/bucket-policies.js"
import fixedWindow from "./fixed-window/fixed-window-policies.js"
import log from "./log/log-policies.js"
import type { PolicyKind } from "./policy-kind.js"

export * from "./bucket/bucket-policies.js"
export * from "./fixed-window/fixed-window-policies.js"
export * from "./log/log-policies.js"

const registry = { ...fixedWindow, ...log, ...bucket }

/** A rate limit as a plain frozen object, made by the function named like its `algorithm`. */
export type Policy = PolicyOf<(typeof registry)[keyof typeof registry]>

type PolicyOf<Kind> = Kind extends PolicyKind<infer P> ? P : never

// The default export is not among those of `export *`, so that the package does not export it.
export default registry as Readonly<Record<Policy["algorithm"], PolicyKind<Policy>>>
