/** A request in a call of the Lua library, as `run.lua` reads it. */
export interface ReadRequest {
  readonly mode: string
  readonly count: number | readonly number[]
  /** One key per policy. */
  readonly keys: readonly string[]
  /** The policies as they are sent, and the cost under each in units of the plan. */
  readonly policies: readonly { readonly sent: Readonly<Record<string, number>>; readonly units: number }[]
  /** The key of the request's own note. */
  readonly note: string | undefined
}

const withNote: ReadonlySet<string> = new Set(["reserve", "settle"])
const withoutResets: ReadonlySet<string> = new Set(["spend", "peek", "charge"])

/** Reads a call back into its requests. Undefined if these are not the arguments of our library. */
export function readCall(
  keys: readonly string[],
  args: readonly string[],
): { readonly now: number | undefined; readonly requests: readonly ReadRequest[] } | undefined {
  const [now = "", , given = "", ...texts] = args
  if (texts[0]?.startsWith('["') !== true) return undefined
  const plans = texts.map((text) => JSON.parse(text) as [mode: string, ...rest: unknown[]])
  const list = given === "" ? undefined : (JSON.parse(given) as (number | number[])[])
  const requests: ReadRequest[] = []
  for (let used = 0, next = 0; used < keys.length; ) {
    const [mode, ...rest] = plans[list === undefined ? 0 : (list[next++] as number) - 1] as [
      string,
      ...unknown[],
    ]
    const count = list === undefined ? 1 : (list[next++] as number | number[])
    const sent = rest.filter((_, i) => i % 2 === 1) as Record<string, number>[]
    const policies = sent.map((policy) => ({
      sent: policy,
      units: list === undefined ? 1 : (list[next++] as number),
    }))
    const own = keys.slice(used, used + sent.length)
    used += withoutResets.has(mode) ? sent.length : 2 * sent.length
    const note = withNote.has(mode) ? keys[used++] : undefined
    requests.push({ mode, count, keys: own, policies, note })
  }
  return { now: now === "" ? undefined : Number(now), requests }
}
