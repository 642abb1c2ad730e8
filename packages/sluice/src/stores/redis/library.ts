import { createHash } from "node:crypto"
import { files as algorithms } from "../../algorithms/wire.generated.js"
import { files } from "./lua-run.generated.js"

const { call, ...others } = files
const body = [call, ...Object.values(algorithms), ...Object.values(others)].join("\n")

/** Two versions can coexist during a deploy, because the name contains a hash of the text. */
const name = `sluice_${createHash("sha256").update(body).digest("hex").slice(0, 12)}`

const register = (functionName: string, flags: string) =>
  `redis.register_function({ function_name = "${functionName}", flags = {${flags}}, callback = run })`

/** The Lua library as a Redis Function. An operator can load it in advance: `FUNCTION LOAD` with this text. */
export const library: { readonly name: string; readonly text: string } = {
  name,
  text: `#!lua name=${name}\n${body}\n${register(name, "")}\n${register(`${name}_ro`, '"no-writes"')}\n`,
}

/** The function for calls that write nothing. It runs on replicas, and when memory is full. */
export const readOnlyName = `${name}_ro`

/** The same library as a script, for servers without functions. */
export const libraryScript = scriptOf(`${body}\nreturn run(KEYS, ARGV)`)

/** A script with the hash by which EVALSHA finds it. */
export interface Script {
  readonly sha: string
  readonly text: string
}

export function scriptOf(text: string): Script {
  return { sha: createHash("sha1").update(text).digest("hex"), text }
}
