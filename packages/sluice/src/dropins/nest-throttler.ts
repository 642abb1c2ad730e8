import {
  checkStoreOptions,
  createCounter,
  type Hit,
  type Rule,
  type SluiceStoreOptions,
  wholeSeconds,
} from "./counter.js"

export type { Rule, SluiceStoreOptions } from "./counter.js"

/** The result of `ThrottlerStorage.increment` in @nestjs/throttler 6. Times are seconds. */
export interface ThrottlerRecord {
  totalHits: number
  timeToExpire: number
  isBlocked: boolean
  timeToBlockExpire: number
}

/** The `storage` of @nestjs/throttler 6. */
export interface SluiceStore {
  increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<ThrottlerRecord>
}

/** A storage for @nestjs/throttler: `ThrottlerModule.forRoot({ throttlers, storage: sluiceStore({ store }) })`. */
export function sluiceStore(options: SluiceStoreOptions = {}): SluiceStore {
  checkStoreOptions(options)
  const name = options.prefix ?? "nest-throttler"
  const hits = createCounter(name, options)
  const blocks = createCounter(`${name}:block`, { ...options, policy: undefined })
  return {
    async increment(key, ttl, limit, blockDuration, throttlerName) {
      const id = `${throttlerName}:${key}`
      const rule = { limit, window: ttl }
      const hit = await hits.hit(id, rule)
      // Without a configured block, the guard passes `ttl`. Then a denial lasts until its window ends.
      if (blockDuration <= 0 || blockDuration === ttl) return recordOf(hit, hit.retryAfter)
      const block = { limit: 1, window: blockDuration }
      return hit.allowed ? passOrUndo(id, hit, rule, block) : startBlock(id, hit, rule, block)
    },
  }

  /** The first denied hit starts the block and resets the count, so that the key starts at zero after the block. */
  async function startBlock(id: string, hit: Hit, rule: Rule, block: Rule): Promise<ThrottlerRecord> {
    const first = await blocks.hit(id, block)
    if (first.allowed) await hits.reset(id, rule)
    return recordOf(hit, first.allowed ? first.resetAfter : first.retryAfter)
  }

  /** Checks for a block after counting. If a block has just reset the count, this check sees that block. */
  async function passOrUndo(id: string, hit: Hit, rule: Rule, block: Rule): Promise<ThrottlerRecord> {
    const blocked = await blocks.look(id, block)
    if (blocked.used === 0) return recordOf(hit, 0)
    await hits.takeBack(id, rule)
    return recordOf({ ...hit, allowed: false, used: rule.limit + 1 }, blocked.resetAfter)
  }
}

function recordOf({ allowed, used, resetAfter }: Hit, blockedFor: number): ThrottlerRecord {
  return {
    totalHits: used,
    timeToExpire: wholeSeconds(resetAfter),
    isBlocked: !allowed,
    timeToBlockExpire: allowed ? 0 : wholeSeconds(blockedFor),
  }
}
