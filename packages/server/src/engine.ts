import {
  createLimiter,
  type Limiter,
  memoryStore,
  type OutageChange,
  type Policies,
  type Policy,
  type Store,
} from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { createRules, type Rules } from "sluice/rules"
import type { Config, DescriptorRule, Domain, LimiterConfig } from "./config/config.js"
import { connectRedis, type RedisConfig } from "./redis-client.js"

/** The limiters of a server, on one store. A reload changes them in place, so counters and waiters survive it. */
export interface Engine {
  readonly store: Store
  readonly rules: Rules
  /** The configuration in force. */
  readonly config: Config
  /** A limiter by its name: one of `limiters`, or of a descriptor. */
  limiter(name: string): Limiter | undefined
  /** The policies of a limiter, as they are configured. */
  policies(name: string): Policies | undefined
  domain(name: string): Domain | undefined
  /** Takes a new configuration. The store cannot change. Returns what an operator should know. */
  reload(config: Config): string[]
  /** Whether the store answers. */
  ready(): Promise<boolean>
  /** Ends waits, gives leases back, and closes the connection to Redis. */
  close(): Promise<void>
}

/** A limiter with its policies, which a reload replaces. */
interface Entry {
  readonly limiter: Limiter
  config: LimiterConfig
}

export interface EngineOptions {
  /** Receives errors of the connection to Redis. */
  readonly onError?: (error: Error) => void
  /** Called for each new connection to Redis. */
  readonly onReady?: () => void
  /** Called when a limiter loses its store, and when the store answers again. */
  readonly onHealth?: (limiter: string, change: OutageChange) => void
}

/** The longest timer of Node, in milliseconds: 24.8 days. A longer one would fire at once. */
const LONGEST_TIMER = 2 ** 31 - 1

/** Creates the store and all limiters of a configuration. */
export function createEngine(initial: Config, options: EngineOptions = {}): Engine {
  const { onHealth = () => {} } = options
  let config = initial
  const { store, ping, disconnect } = openStore(config, options)
  const rules = createRules(store)
  const entries = new Map<string, Entry>()
  /** Limiters that a reload replaced or removed. They end when nobody waits there any more. */
  const retired = new Set<Limiter>()

  const create = (name: string, config: LimiterConfig): Entry => {
    const { mode, lease, outage, maxWait, maxWaiters } = config
    const entry: Entry = {
      config,
      limiter: createLimiter({
        name,
        // A function, so that a reload can change the policy while requests wait.
        policy: () => entry.config.policy,
        store,
        rules,
        mode,
        lease,
        outage: { ...outage, onChange: (change) => onHealth(name, change) },
        maxWait,
        maxWaiters,
      }),
    }
    return entry
  }

  const retire = ({ limiter, config }: Entry) => {
    retired.add(limiter)
    const { maxWait = 60_000 } = config
    const end = () => {
      retired.delete(limiter)
      void limiter.close()
    }
    setTimeout(end, Math.min(maxWait, LONGEST_TIMER)).unref()
  }

  const apply = (next: Config) => {
    const wanted = limiterConfigs(next)
    for (const [name, entry] of entries) {
      if (wanted.has(name)) continue
      entries.delete(name)
      retire(entry)
    }
    for (const [name, config] of wanted) {
      const entry = entries.get(name)
      if (entry !== undefined && sameBut(entry.config, config)) {
        entry.config = config
        entry.limiter.mode = config.mode
        continue
      }
      if (entry !== undefined) retire(entry)
      entries.set(name, create(name, config))
    }
    config = next
  }
  apply(initial)

  return {
    store,
    rules,
    get config() {
      return config
    },
    limiter: (name) => entries.get(name)?.limiter,
    policies: (name) => entries.get(name)?.config.policy,
    domain: (name) => config.domains.get(name),
    reload(next) {
      const warnings = changedAlgorithms(limiterConfigs(config), limiterConfigs(next))
      if (JSON.stringify(next.store) !== JSON.stringify(config.store)) {
        warnings.push("the store has changed in the file; restart the server to use it")
      }
      apply({ ...next, store: config.store })
      return warnings
    },
    ready: ping,
    async close() {
      rules.close()
      const limiters = [...[...entries.values()].map(({ limiter }) => limiter), ...retired]
      await Promise.all(limiters.map((limiter) => limiter.close()))
      await disconnect()
    },
  }
}

function openStore({ store: config }: Config, { onError = () => {}, onReady }: EngineOptions) {
  if (config.type === "memory") {
    const store: Store = memoryStore({ maxKeys: config.maxKeys })
    return { store, ping: async () => true, disconnect: async () => {} }
  }
  const client = connectRedis(config, onError, onReady)
  return {
    store: storeOn(client, config),
    ping: () =>
      client.ping().then(
        () => true,
        () => false,
      ),
    disconnect: async () => client.disconnect(),
  }
}

function storeOn(client: ReturnType<typeof connectRedis>, { prefix, delivery }: RedisConfig): Store {
  try {
    return redisStore(ioredis(client), { prefix, delivery })
  } catch (error) {
    // The connection would keep the process alive.
    client.disconnect()
    throw error
  }
}

/** All limiters of a configuration by name, those of descriptors included. */
export function limiterConfigs(config: Config): Map<string, LimiterConfig> {
  const all = new Map(config.limiters)
  const visit = (rule: DescriptorRule) => {
    const { limit } = rule
    if (limit?.kind === "policy")
      all.set(limit.limiter, limiterOfDescriptor(rule, limit.policy, config.outage))
    rule.descriptors.forEach(visit)
  }
  for (const { descriptors } of config.domains.values()) descriptors.forEach(visit)
  return all
}

/** In shadow mode, a rule of Envoy's format counts and never denies: it observes. */
function limiterOfDescriptor(
  { shadowMode }: DescriptorRule,
  policy: Policies,
  outage: LimiterConfig["outage"],
): LimiterConfig {
  const mode = shadowMode ? "observe" : "enforce"
  return { policy, mode, lease: false, outage, maxWait: undefined, maxWaiters: undefined }
}

/** Whether two limiters differ only in what can change while they run: the policy and the mode. */
function sameBut(a: LimiterConfig, b: LimiterConfig): boolean {
  const rest = ({ policy: _, mode: __, ...others }: LimiterConfig) => JSON.stringify(others)
  return rest(a) === rest(b)
}

function changedAlgorithms(
  before: ReadonlyMap<string, LimiterConfig>,
  after: ReadonlyMap<string, LimiterConfig>,
): string[] {
  return [...after].flatMap(([name, { policy }]) => {
    const old = before.get(name)
    if (old === undefined) return []
    const known = namedPolicies(old.policy)
    return [...namedPolicies(policy)].flatMap(([policyName, { algorithm }]) => {
      const was = known.get(policyName)?.algorithm
      if (was === undefined || was === algorithm) return []
      return `limiter ${name}, policy ${policyName}: ${was} became ${algorithm}, which starts with empty state`
    })
  })
}

/** Policies by name. A single policy is called `default`. */
export function namedPolicies(policies: Policies): Map<string, Policy> {
  const isSingle = typeof (policies as Policy).algorithm === "string"
  return new Map(
    isSingle ? [["default", policies as Policy]] : Object.entries(policies as Record<string, Policy>),
  )
}
