import { library } from "sluice/redis"
import { type Asked, ask, isForbidden, isUnknownCommand } from "./ask.js"
import { type Finding, finding } from "./finding.js"

/** Commands without which the library still works, a little slower. */
const useful = ["mget", "setrange"]
/** The other commands that the Lua library calls, each by a quoted name. */
const needed = [...new Set(Array.from(library.text.matchAll(/\b(?:call|try)\("([A-Z]+)"/g), nameOf))]
  .filter((command) => !useful.includes(command))
  .sort()
const loading = ["function|load", "evalsha", "eval"]
const forRules = [
  "eval",
  "evalsha",
  "time",
  "hget",
  "hset",
  "hdel",
  "hlen",
  "hgetall",
  "lpush",
  "ltrim",
  "lrange",
]

const forTopKeys = [
  ...["eval", "evalsha", "hdel", "hmget", "hset", "pexpire", "pttl", "time"],
  ...["zadd", "zcard", "zrangebyscore", "zrem", "zscore"],
]

function nameOf([, command]: RegExpMatchArray): string {
  return (command as string).toLowerCase()
}

const rightsOf = (commands: readonly string[]) => commands.map((command) => `+${command}`).join(" ")
const user = "ACL SETUSER sluice reset on >secret ~sluice:*"
const inLibrary = rightsOf([...needed, ...useful].sort())

/** The rights that docs/redis.md, docs/rules.md and docs/top-keys.md name. */
export const aclLines = {
  loadedInAdvance: `${user} +fcall ${inLibrary}`,
  loadsItself: `${user} +fcall ${rightsOf(loading)} ${inLibrary}`,
  rules: `ACL SETUSER sluice ${rightsOf(forRules)}`,
  topKeys: `ACL SETUSER sluice ${rightsOf(forTopKeys)}`,
} as const

/** Calls that change nothing: on a text that expires soon, on a key that is not there, or with arguments that are refused. */
const probes: Readonly<Record<string, (text: string, none: string) => readonly [string, ...string[]]>> = {
  del: (_, none) => ["DEL", none],
  eval: () => ["EVAL", "return 1", "0"],
  evalsha: () => ["EVALSHA", "0".repeat(40), "0"],
  fcall: () => ["FCALL", "sluice_doctor_no_such_function", "0"],
  "function|load": () => ["FUNCTION", "LOAD", "no library"],
  get: (_, none) => ["GET", none],
  hdel: (_, none) => ["HDEL", none, "field"],
  hget: (_, none) => ["HGET", none, "field"],
  hgetall: (_, none) => ["HGETALL", none],
  hlen: (_, none) => ["HLEN", none],
  hset: (text) => ["HSET", text, "field", "value"],
  lindex: (_, none) => ["LINDEX", none, "0"],
  llen: (_, none) => ["LLEN", none],
  lpop: (_, none) => ["LPOP", none],
  lpush: (text) => ["LPUSH", text, "value"],
  lrange: (_, none) => ["LRANGE", none, "0", "1"],
  lset: (_, none) => ["LSET", none, "0", "value"],
  ltrim: (_, none) => ["LTRIM", none, "0", "1"],
  mget: (_, none) => ["MGET", none],
  pexpire: (_, none) => ["PEXPIRE", none, "1000"],
  pexpireat: (_, none) => ["PEXPIREAT", none, "1"],
  rpush: (text) => ["RPUSH", text, "value"],
  setrange: (_, none) => ["SETRANGE", none, "0", ""],
  time: () => ["TIME"],
}

/** These would create a key if the text were not there. */
const onText = ["hset", "lpush", "rpush"]

export interface Rights {
  readonly user: string
  /** Commands that the user may not run. */
  readonly forbidden: ReadonlySet<string>
  /** Commands that the server does not have. */
  readonly absent: ReadonlySet<string>
  /** Whether the user may not touch keys with the prefix. */
  readonly keysForbidden: boolean
}

/** Tries each command that Sluice needs, as the user of the connection. */
export async function probeRights(client: Asked, prefix: string, id: string): Promise<Rights> {
  const [text, none] = [`${prefix}:{doctor}${id}:text`, `${prefix}:{doctor}${id}:none`]
  const forbidden = new Set<string>()
  const absent = new Set<string>()
  let keysForbidden = false
  const note = (command: string, error: string | undefined) => {
    if (isUnknownCommand(error)) absent.add(command)
    if (!isForbidden(error)) return
    if (/access (a|one of the) keys?/i.test(error as string)) keysForbidden = true
    else forbidden.add(command)
  }
  const written = await ask(client, "SET", text, "", "PX", "5000")
  note("set", written.error)
  for (const [command, call] of Object.entries(probes)) {
    if (written.error !== undefined && onText.includes(command)) continue
    const [name, ...args] = call(text, none)
    note(command, (await ask(client, name, ...args)).error)
  }
  await ask(client, "DEL", text)
  const { value } = await ask(client, "ACL", "WHOAMI")
  return {
    user: value === undefined ? "this user" : `user ${String(value)}`,
    forbidden,
    absent,
    keysForbidden,
  }
}

/** Says what is missing for each of the two lines of rights, and for rules. */
export function checkRights(
  rights: Rights,
  { isLoaded, prefix }: { isLoaded: boolean; prefix: string },
): Finding[] {
  const { user, forbidden, absent, keysForbidden } = rights
  const missing = (commands: readonly string[]) =>
    commands.filter((each) => forbidden.has(each) || absent.has(each))
  const grant = (commands: readonly string[]) =>
    `Run: ACL SETUSER ${user.replace(/^user |^this user$/, "") || "<user>"} ${rightsOf(commands)}`
  if (keysForbidden) {
    const fix = `Run: ACL SETUSER ${user.replace(/^user /, "")} ~${prefix}:*`
    return [finding("rights", "problem", `${user} may not use keys that start with ${prefix}:`, fix)]
  }
  const withFunctions = missing(["fcall", ...needed])
  const loadsItself = missing(["fcall", ...loading, ...needed])
  const byScript = missing(["eval", "evalsha", ...needed])
  const findings: Finding[] = []
  const add = (...args: Parameters<typeof finding>) => findings.push(finding(...args))
  if (loadsItself.length === 0) add("rights", "ok", `${user} may load the library and call it`)
  else if (withFunctions.length === 0 && isLoaded)
    add("rights", "ok", `${user} may call the library, which is loaded`)
  else if (byScript.length === 0 && absent.has("fcall"))
    add("rights", "ok", `${user} may run the library as a script`)
  else if (withFunctions.length === 0) {
    const message = `${user} may call the library, but not load it, and it is not loaded`
    add(
      "rights",
      "problem",
      message,
      "Load it as an administrator: sluice library | redis-cli -x FUNCTION LOAD",
    )
  } else {
    add(
      "rights",
      "problem",
      `to call a library that is loaded, ${user} lacks ${withFunctions.join(", ")}`,
      grant(withFunctions),
    )
    add(
      "rights",
      "problem",
      `to load the library too, ${user} lacks ${loadsItself.join(", ")}`,
      grant(loadsItself),
    )
  }
  const slower = missing(useful)
  if (slower.length > 0)
    add("rights", "warning", `without ${slower.join(" and ")}, decisions are slower`, grant(slower))
  const lacking = missing(forRules)
  if (lacking.length > 0) {
    add("rights", "warning", `rules do not work: ${user} lacks ${lacking.join(", ")}`, grant(lacking))
  }
  return findings
}
