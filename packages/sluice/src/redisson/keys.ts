import { randomUUID } from "node:crypto"

/** The keys of a limiter as Redisson names them, in the order its scripts take them. */
export function redissonKeys(name: string, clientId: string): readonly string[] {
  // Redisson looks for an opening brace only, so a name has to bring a whole hash tag or none
  const stem = name.includes("{") ? name : `{${name}}`
  return [
    name,
    `${stem}:value`,
    `${stem}:value:${clientId}`,
    `${stem}:permits`,
    `${stem}:permits:${clientId}`,
  ]
}

let ownId: string | undefined

/** The id of this process as a client, which Redisson draws for each of its own. */
export function processId(): string {
  ownId ??= randomUUID()
  return ownId
}
