import { setTimeout as sleep } from "node:timers/promises"
import Bottleneck from "bottleneck"
import type { Connecting } from "../redis.js"
import { serial, type WaitingSubject } from "../subject.js"

/**
 * Clustered on Redis, with so many milliseconds between two starts. It has a second connection, for messages.
 *
 * On Redis 7 it works as long as its state is there. Its two ways to recover do not, since it compares error
 * texts that Redis 7 puts an `ERR` before: nothing may be flushed while it is open.
 */
export async function bottleneck(on: Connecting, minTime: number): Promise<WaitingSubject> {
  const connection = new Bottleneck.IORedisConnection({ client: await on.connect() })
  const limiter = new Bottleneck({ id: `bench${serial()}`, minTime, connection })
  await limiter.ready()
  return {
    wait: (granted) => limiter.schedule(async () => granted()),
    async inLine() {
      while (limiter.counts().RECEIVED > 0) await sleep(1)
    },
    async close() {
      // in this order, or it would first send all who still wait to Redis
      await connection.disconnect(false)
      await limiter.stop()
    },
  }
}
