import { channel } from "node:diagnostics_channel"
import type { SluiceEvent } from "../events.js"
import { type ListenOptions, listen } from "./hub.js"

const types: readonly SluiceEvent["type"][] = [
  "decision",
  "store",
  "batch",
  "retry",
  "lease",
  "wait",
  "reservation",
  "breaker",
  "rules",
]

/** The channels of `node:diagnostics_channel`, by type of event: `sluice:decision` and so on. */
export const channels = Object.fromEntries(
  types.map((type) => [type, channel(`sluice:${type}`)]),
) as Readonly<Record<SluiceEvent["type"], ReturnType<typeof channel>>>

/**
 * Publishes every event of this process on the channels of `node:diagnostics_channel`. With `keys: true`, messages have a
 * `key`. Returns how to stop.
 */
export function publishEvents({ keys = false }: ListenOptions = {}): () => void {
  const publish = (event: SluiceEvent, key?: string) => {
    const target = channels[event.type]
    if (target.hasSubscribers) target.publish(key === undefined ? event : { ...event, key })
  }
  return listen(publish, { keys })
}
