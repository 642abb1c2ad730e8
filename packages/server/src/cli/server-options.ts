import type { Cost, Decision, Policies } from "sluice"
import { type Client, createClient } from "sluice/client"
import { type Arguments, optionOf, type Terminal, UsageError } from "./command.js"
import { printable } from "./format.js"

/** Options of all commands that talk to a server. */
export const serverOptions: Readonly<Record<string, string>> = {
  "server=": "the URL of the server. Default: SLUICE_SERVER, or http://127.0.0.1:8080",
  "token=": "the admin token. Default: SLUICE_ADMIN_TOKEN, which other users of the machine cannot see",
}

export function clientOf(args: Arguments, { env }: Terminal): Client {
  const url = optionOf(args, "server") ?? (env["SLUICE_SERVER"] || "http://127.0.0.1:8080")
  const token = optionOf(args, "token") ?? (env["SLUICE_ADMIN_TOKEN"] || undefined)
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new UsageError(`--server must be a URL such as http://127.0.0.1:8080, got ${printable(url)}`)
  }
  return createClient({ url, token })
}

/** The words `<limiter> <key>` of a call. */
export function limiterAndKey({ words }: Arguments, command: string): [limiter: string, key: string] {
  const [limiter, key, more] = words
  if (!limiter || !key) throw new UsageError(`${command} needs a limiter and a key`)
  if (more !== undefined) {
    throw new UsageError(
      `${command} takes a limiter and a key, got also ${printable(more)}; quote a key with spaces`,
    )
  }
  return [limiter, key]
}

/** Throws unless the server has the limiter. For calls that would otherwise show nothing for a misspelt name. */
export async function checkLimiter(client: Client, name: string): Promise<void> {
  const names = (await client.limiters()).map((each) => each.name)
  if (names.includes(name)) return
  const known =
    names.length === 0 ? "there are none" : `there are ${names.map((each) => printable(each)).join(", ")}`
  throw new UsageError(`no limiter is called ${printable(name)}; ${known}`)
}

/** Reads `--cost 5`, or `--cost requests=1,bytes=500` for several policies. */
export function costOption(args: Arguments): Cost<Policies> | undefined {
  const texts = args.options.get("cost")?.flatMap((text) => text.split(","))
  if (texts === undefined) return undefined
  const units = (text: string) => {
    const value = Number(text)
    if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value
    throw new UsageError(`--cost must be an integer, or <policy>=<integer>,…, got ${printable(text)}`)
  }
  if (texts.length === 1 && !texts[0]?.includes("=")) return units(texts[0] as string)
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.lastIndexOf("=")
      if (at < 1)
        throw new UsageError(
          `--cost with several policies must be <policy>=<integer>,…, got ${printable(text)}`,
        )
      return [text.slice(0, at), units(text.slice(at + 1))]
    }),
  )
}

/** The policies of a decision, also if there is only one. */
export function policiesOf(decision: Decision): NonNullable<Decision["policies"]> {
  return decision.policies ?? [decision]
}
