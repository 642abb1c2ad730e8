import { randomUUID } from "node:crypto"
import { shared } from "../shared.js"

/** The keys of a limiter as Redisson names them, in the order its scripts take them. */
export function redissonKeys(name: string, clientId: string): readonly string[] {
  // Like Redisson, check only for an opening brace: a name contains a complete hash tag or none.
  const stem = name.includes("{") ? name : `{${name}}`
  return [
    name,
    `${stem}:value`,
    `${stem}:value:${clientId}`,
    `${stem}:permits`,
    `${stem}:permits:${clientId}`,
  ]
}

/** The id of this process under `PER_CLIENT`. Redisson, too, draws a random one per client. */
export function processId(): string {
  return shared("redisson-client", () => ({ id: randomUUID() })).id
}
