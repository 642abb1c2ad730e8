import type { Redis } from "ioredis"

/** The part of a client that examinations use. */
export type Asked = Pick<Redis, "call">

/** A reply of the server, or why there is none. */
export type Reply =
  | { readonly value: unknown; readonly error?: never }
  | { readonly value?: never; readonly error: string }

/** Sends a command. Errors are part of the answer, because a missing right is a finding. */
export async function ask(client: Asked, command: string, ...args: readonly string[]): Promise<Reply> {
  try {
    return { value: await client.call(command, ...args) }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

/** Whether the user may not run the command, or may not touch the key. */
export function isForbidden(error: string | undefined): boolean {
  return error?.startsWith("NOPERM") === true
}

/** Whether the server does not have the command: it is too old, or the command was renamed. */
export function isUnknownCommand(error: string | undefined): boolean {
  return /^ERR (unknown (sub)?command|command is not available)/i.test(error ?? "")
}

/** The fields of INFO by name. */
export type Info = ReadonlyMap<string, string>

export function parseInfo(text: string): Info {
  const fields = text.split(/\r?\n/).flatMap((line) => {
    const at = line.indexOf(":")
    return at > 0 && !line.startsWith("#") ? [[line.slice(0, at), line.slice(at + 1)] as const] : []
  })
  return new Map(fields)
}

/** A setting of the server, or undefined if CONFIG may not be used. */
export async function setting(client: Asked, name: string): Promise<string | undefined> {
  const { value } = await ask(client, "CONFIG", "GET", name)
  return Array.isArray(value) && value.length === 2 ? String(value[1]) : undefined
}
