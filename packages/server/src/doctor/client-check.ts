import { ioredisSettings } from "sluice/redis"
import { type Asked, ask } from "./ask.js"
import { type Finding, finding } from "./finding.js"

const reasons: Readonly<Record<keyof typeof ioredisSettings, string>> = {
  autoResendUnfulfilledCommands: "a call is sent again after a reconnect, and its cost is spent twice",
  maxRetriesPerRequest: "a call waits for a new connection and is sent again",
  enableOfflineQueue: "calls wait in the client while there is no connection",
}

/** Settings of the client that would replay calls. ioredis takes options from the query of a URL. */
export function checkClientSettings(options: Readonly<Record<string, unknown>>): Finding {
  const wrong = (Object.keys(ioredisSettings) as (keyof typeof ioredisSettings)[]).filter(
    (name) => options[name] !== ioredisSettings[name],
  )
  if (wrong.length === 0) return finding("client", "ok", "the settings of this URL never replay a call")
  const message = wrong.map((name) => `${name} in the URL: ${reasons[name]}`).join("; ")
  return finding("client", "problem", message, `Remove ${wrong.join(", ")} from the query of the URL.`)
}

/** The settings that other clients need, by the name that they give to the server since Redis 7.2. */
const advice: Readonly<Record<string, string>> = {
  ioredis: "new Redis({ ...ioredisSettings, … })",
  iovalkey: "new Redis({ ...ioredisSettings, … })",
  "node-redis": "createClient({ disableOfflineQueue: true, … })",
}

/** Names the client libraries that are connected. Their settings cannot be seen from the server. */
export async function checkConnectedClients(client: Asked): Promise<Finding[]> {
  const { value } = await ask(client, "CLIENT", "LIST")
  return value === undefined ? [] : connectedClients(String(value))
}

export function connectedClients(list: string): Finding[] {
  const names = [...list.matchAll(/ lib-name=([\w-]+)/g)].map(([, name]) => name as string)
  const known = [...new Set(names)].filter((name) => Object.hasOwn(advice, name)).sort()
  return known.map((name) =>
    finding(
      "client",
      "ok",
      `${names.filter((each) => each === name).length} connections of ${name}; applications create it with ${advice[name]}`,
    ),
  )
}
