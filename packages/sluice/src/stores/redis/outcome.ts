/**
 * What an error says about the call that met it:
 * - `unloaded`: not executed, the server does not have the script;
 * - `again`: not executed, and likely to pass in a moment;
 * - `refused`: not executed, and not by trying again;
 * - `unknown`: it may have run, so it must never be sent again.
 */
export type Outcome = "unloaded" | "again" | "refused" | "unknown"

/** What we say of an ask whose key holds what nobody can have written who counts by its policy. */
export const UNREADABLE = "UNREADABLE"

/** Error replies, by the code they begin with; a script gets them before it has written anything. */
const replies: Readonly<Record<string, Outcome>> = {
  NOSCRIPT: "unloaded",
  ASK: "again",
  BUSY: "again",
  CLUSTERDOWN: "again",
  LOADING: "again",
  MASTERDOWN: "again",
  MOVED: "again",
  READONLY: "again",
  TRYAGAIN: "again",
  CROSSSLOT: "refused",
  MISCONF: "refused",
  NOAUTH: "refused",
  NOPERM: "refused",
  NOREPLICAS: "refused",
  OOM: "refused",
  WRONGPASS: "refused",
  WRONGTYPE: "refused",
}

/** What valkey-glide calls error replies that it knows; to the codes of others it adds a colon. */
const glideNames: Readonly<Record<string, string>> = {
  Ask: "ASK",
  BusyLoadingError: "LOADING",
  ClusterDown: "CLUSTERDOWN",
  CrossSlot: "CROSSSLOT",
  MasterDown: "MASTERDOWN",
  Moved: "MOVED",
  NoScriptError: "NOSCRIPT",
  PermissionDenied: "NOPERM",
  ReadOnly: "READONLY",
  TryAgain: "TRYAGAIN",
}

/** What we say of a call to a node of a Cluster that has no connection yet. */
export const UNCONNECTED = "The node is not connected"

/** What node-redis says of a call on a client that was closed, and we in place of others. */
export const CLOSED = "The client is closed"

/** What clients say of a call that they never sent, because they have no connection; why, they say elsewhere. */
const offline: readonly string[] = [
  UNCONNECTED,
  "Stream isn't writeable and enableOfflineQueue options is false",
  "Cluster isn't ready and enableOfflineQueue options is false",
  "The client is offline",
]

/** What they say of other calls that they never sent. */
const unsent: readonly [text: string, outcome: Outcome][] = [
  [CLOSED, "refused"],
  ["Reached maximum inflight requests", "again"],
  ["Standalone connect failed", "again"],
  ["Unable to execute requests; the client is closed", "refused"],
]

/** Tells what became of a call from the error it ended with. */
export function outcomeOf(error: unknown): Outcome {
  if (!(error instanceof Error)) return "unknown"
  if ("code" in error && error.code === "ECONNREFUSED") return "again"
  const message = String(error.message)
  const code = codeOf(message)
  if (Object.hasOwn(replies, code)) return replies[code] as Outcome
  if (isOffline(message)) return "again"
  for (const [text, outcome] of unsent) if (message.startsWith(text)) return outcome
  return "unknown"
}

/** Whether a client says with this message that it has no connection. */
export function isOffline(message: string): boolean {
  return offline.some((text) => message.startsWith(text))
}

/** The code of an error reply, from the message that a client made of it. */
export function codeOf(message: string): string {
  const signalled = /^An error was signalled by the server: - (\w+):/.exec(message)?.[1]
  if (signalled !== undefined)
    return Object.hasOwn(glideNames, signalled) ? (glideNames[signalled] as string) : ""
  return (message.split(" ", 1)[0] as string).replace(/:$/, "")
}
