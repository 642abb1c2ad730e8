import pThrottle from "p-throttle"
import type { WaitingSubject } from "../subject.js"

/** In memory: so many starts in an interval of so many milliseconds. */
export async function throttle(limit: number, interval: number): Promise<WaitingSubject> {
  const ending = new AbortController()
  return {
    wait: pThrottle({ limit, interval, signal: ending.signal })(async (granted) => granted()),
    inLine: async () => {},
    async close() {
      ending.abort()
    },
  }
}
