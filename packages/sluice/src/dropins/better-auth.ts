import { checkStoreOptions, createCounter, type SluiceStoreOptions, wholeSeconds } from "./counter.js"

export type { Rule, SluiceStoreOptions } from "./counter.js"

/** The `customStorage` of better-auth 1.7. */
export interface SluiceStore {
  consume(
    key: string,
    rule: { window: number; max: number },
  ): Promise<{ allowed: boolean; retryAfter: number | null }>
}

/** A storage for better-auth: `rateLimit: { customStorage: sluiceStore({ store }) }`. */
export function sluiceStore(options: SluiceStoreOptions = {}): SluiceStore {
  checkStoreOptions(options)
  const counter = createCounter(options.prefix ?? "better-auth", options)
  return {
    async consume(key, { window, max }) {
      const { allowed, retryAfter } = await counter.hit(key, { limit: max, window: window * 1_000 })
      return { allowed, retryAfter: allowed ? null : wholeSeconds(retryAfter) }
    },
  }
}
