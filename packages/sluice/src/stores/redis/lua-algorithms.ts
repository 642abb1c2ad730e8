// What only the Redis store knows of each algorithm: its name, parameters and reply in Lua.

import type { BucketParameters } from "../../algorithms/bucket/bucket-parameters.js"
import type { FixedWindowParameters } from "../../algorithms/fixed-window/fixed-window.js"
import { parametersOf } from "../../algorithms/index.js"
import type { LogParameters } from "../../algorithms/log/log-state.js"
import {
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "../../policy.js"

/** The Lua side of one algorithm. */
interface LuaAlgorithm<Parameters> {
  /** The name of the algorithm in Lua. */
  readonly name: string
  /** Microseconds that a spend takes Redis in a large batch, as estimated. */
  readonly work: number
  /** The parameters that Lua needs. */
  parameters(parameters: Parameters): Readonly<Record<string, number>>
  /** How many integers a level has. `short` says that not all of the request was granted. */
  levelWidth(parameters: Parameters, short: boolean): number
}

const bucket: LuaAlgorithm<BucketParameters> = {
  name: "bucket",
  work: 4,
  parameters: ({ parts, span, spanPart, cost, costPart, reach, step, life, queue }) => ({
    span,
    reach,
    one: cost,
    ...(queue === 1 && { queue }),
    ...(parts > 1 && { parts, span_part: spanPart, one_part: costPart }),
    ...(step > 0 && { step, life }),
  }),
  levelWidth: ({ parts, step }) => (step > 0 ? 3 : parts > 1 ? 2 : 1),
}

const window: LuaAlgorithm<FixedWindowParameters> = {
  name: "fixed_window",
  work: 4,
  parameters: ({ limit, window, aligned }) => ({ limit, window, aligned }),
  levelWidth: (_parameters, short) => (short ? 3 : 2),
}

const log: LuaAlgorithm<LogParameters> = {
  name: "log",
  work: 10,
  parameters: ({ limit, window, merge }) => ({ limit, window, merge }),
  levelWidth: (_parameters, short) => (short ? 3 : 2),
}

const inLua = {
  fixedWindow: window,
  slidingLog: log,
  slidingWindow: log,
  tokenBucket: bucket,
  leakyBucket: bucket,
} satisfies Record<Policy["algorithm"], unknown> as Record<Policy["algorithm"], LuaAlgorithm<unknown>>

/** The name of a policy's algorithm in Lua, and its parameters for a cost. */
export function encodedPolicy(policy: Policy, cost: number): [string, Readonly<Record<string, number>>] {
  const { name, parameters } = inLua[policy.algorithm]
  return [name, parameters(parametersOf(policy, cost))]
}

/** How many integers the level of a policy has in a reply. `short` says that not all of the request was granted. */
export function levelWidthOf(policy: Policy, cost: number, short: boolean): number {
  return inLua[policy.algorithm].levelWidth(parametersOf(policy, cost), short)
}

/** Microseconds that a spend under a policy takes Redis in a large batch, as estimated. */
export function workOf(policy: Policy): number {
  return inLua[policy.algorithm].work
}

/** Some policy of each algorithm. A reset names the state of each algorithm by it. */
export const anyOfEach: readonly Policy[] = [
  fixedWindow({ limit: 1, window: 1 }),
  slidingLog({ limit: 1, window: 1 }),
  slidingWindow({ limit: 1, window: 1 }),
  tokenBucket({ capacity: 1, refill: 1, every: 1 }),
  leakyBucket({ capacity: 1, leak: 1, every: 1 }),
]
