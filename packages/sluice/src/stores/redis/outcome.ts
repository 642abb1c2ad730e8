/**
 * The outcome of a call that ended with an error.
 *
 * - `unloaded`: not executed. The server does not have the script or function.
 * - `no functions`: not executed. The server has no functions, or the user may not call them.
 * - `again`: not executed. It will probably pass in a moment.
 * - `refused`: not executed. A retry would not help.
 * - `unknown`: it may have run. Never send it again.
 */
export type Outcome = "unloaded" | "no functions" | "again" | "refused" | "unknown"

/** Our own code for a request whose key holds a value that its policy cannot have written. */
export const UNREADABLE = "UNREADABLE"

/** Error replies by their code. Redis sends them before a script or function has written anything. */
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

/** The names that valkey-glide gives to known error codes. To other codes it adds a colon. */
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

/** Our message for a call to a Cluster node that is not connected yet. */
export const UNCONNECTED = "The node is not connected"

/** The message of node-redis for a call on a closed client, and ours for other clients. */
export const CLOSED = "The client is closed"

/** Messages of clients for a call that they never sent, because they have no connection. */
const offline: readonly string[] = [
  UNCONNECTED,
  "Stream isn't writeable and enableOfflineQueue options is false",
  "Cluster isn't ready and enableOfflineQueue options is false",
  "The client is offline",
]

/** Messages for other calls that never ran. */
const unsent: readonly [text: string, outcome: Outcome][] = [
  [CLOSED, "refused"],
  ["Reached maximum inflight requests", "again"],
  ["Standalone connect failed", "again"],
  ["Unable to execute requests; the client is closed", "refused"],
  // Upstash's limits, which it checks before it runs a command.
  ["ERR max daily request limit exceeded", "refused"],
  ["ERR max requests limit exceeded", "refused"],
  ["ERR max request size exceeded", "refused"],
]

const noFunctions =
  /unknown command ['`]?fcall|command is not available: ['`]?fcall|no permissions to run the 'fcall/i

/** Classifies the error that ended a call. */
export function outcomeOf(error: unknown): Outcome {
  if (!(error instanceof Error)) return "unknown"
  if ("code" in error && error.code === "ECONNREFUSED") return "again"
  const message = String(error.message)
  if (message.includes("Function not found")) return "unloaded"
  if (noFunctions.test(message)) return "no functions"
  const code = codeOf(message)
  if (Object.hasOwn(replies, code)) return replies[code] as Outcome
  if (isOffline(message)) return "again"
  for (const [text, outcome] of unsent) if (message.startsWith(text)) return outcome
  return "unknown"
}

/** Whether a message of a client means that it has no connection. */
export function isOffline(message: string): boolean {
  return offline.some((text) => message.startsWith(text))
}

/** The code of an error reply. Clients may wrap it: "Command failed: NOSCRIPT No matching script". */
export function codeOf(message: string): string {
  const signalled = /^An error was signalled by the server: - (\w+):/.exec(message)?.[1]
  if (signalled !== undefined)
    return Object.hasOwn(glideNames, signalled) ? (glideNames[signalled] as string) : ""
  const wrapped = /^[A-Z][\w ]*: ([A-Z]+) /.exec(message)?.[1]
  if (wrapped !== undefined && Object.hasOwn(replies, wrapped)) return wrapped
  return (message.split(" ", 1)[0] as string).replace(/:$/, "")
}
