import type { Case } from "../case.js"
import { accuracy } from "./accuracy.js"
import { cluster } from "./cluster.js"
import { costs } from "./costs.js"
import { fixedRate } from "./fixed-rate.js"
import { hotKeyAllowed, hotKeyDenied } from "./hot-key.js"
import { inFlight, zipfKeys } from "./in-flight.js"
import { leaseProcesses } from "./lease-processes.js"
import { memoryNew, memoryScale, memoryWarm } from "./memory.js"
import { policies, threePolicies } from "./policies.js"
import { redisMemory } from "./redis-memory.js"
import { waiting } from "./waiting.js"

/** All there are, in the order in which they run. */
export const cases: readonly Case[] = [
  inFlight,
  policies,
  zipfKeys,
  hotKeyAllowed,
  hotKeyDenied,
  threePolicies,
  costs,
  fixedRate,
  cluster,
  leaseProcesses,
  waiting,
  accuracy,
  redisMemory,
  memoryWarm,
  memoryNew,
  memoryScale,
]
