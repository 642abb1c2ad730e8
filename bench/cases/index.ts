import type { Case } from "../case.js"
import { accuracy } from "./accuracy.js"
import { autoPipelining } from "./auto-pipelining.js"
import { cluster } from "./cluster.js"
import { costs } from "./costs.js"
import { fixedRate } from "./fixed-rate.js"
import { fleet } from "./fleet.js"
import { hotKeyAllowed, hotKeyDenied } from "./hot-key.js"
import { httpCases } from "./http.js"
import { inFlight, zipfKeys } from "./in-flight.js"
import { leaseProcesses } from "./lease-processes.js"
import { memoryNew, memoryScale, memoryWarm } from "./memory.js"
import { network } from "./network.js"
import { physicalLimit } from "./physical-limit.js"
import { policies, threePolicies } from "./policies.js"
import { policyCount } from "./policy-count.js"
import { redisMemory } from "./redis-memory.js"
import { scriptDelivery } from "./script-delivery.js"
import { service } from "./service.js"
import { waiting } from "./waiting.js"

/** All cases, in the order in which they run. */
export const cases: readonly Case[] = [
  inFlight,
  zipfKeys,
  hotKeyAllowed,
  hotKeyDenied,
  scriptDelivery,
  autoPipelining,
  fixedRate,
  physicalLimit,
  redisMemory,
  policies,
  threePolicies,
  policyCount,
  costs,
  network,
  fleet,
  leaseProcesses,
  cluster,
  waiting,
  accuracy,
  memoryWarm,
  memoryNew,
  memoryScale,
  ...httpCases,
  service,
]
