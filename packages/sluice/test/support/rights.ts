import { readFileSync } from "node:fs"

/** The words of the rule in a page of the docs, `ACL SETUSER` left out. */
export function ruleIn(page: string): string[] {
  const text = readFileSync(new URL(`../../../../docs/${page}`, import.meta.url), "utf8")
  const rule = /^ACL SETUSER (sluice .+)$/m.exec(text)?.[1]
  if (rule === undefined) throw new Error(`docs/${page} has no line ACL SETUSER sluice`)
  return rule.split(" ")
}

/** The rights that scripts need: to be run, and for every command in them. */
export function rightsFor(scripts: Record<string, { readonly source: string }>): string[] {
  const commands = Object.values(scripts).flatMap(({ source }) => commandsIn(source))
  return ["+evalsha", "+eval", ...[...new Set(commands)].sort().map((command) => `+${command}`)]
}

/** The commands that a script calls, each by its name in quotes: one that is found otherwise could not be read here. */
export function commandsIn(lua: string): string[] {
  const calls = lua
    .replaceAll(/local call(, try)? = redis\.call(, redis\.pcall)?/g, "")
    .matchAll(/(?<!")\b(?:call|try)\b(?:\("([A-Z]+)")?|\bredis\.pcall\b/g)
  return Array.from(calls, ({ 0: text, 1: command, index }) => {
    if (command === undefined)
      throw new Error(`not a call of a command by its name: ${lua.slice(index, index + 40)} (${text})`)
    return command.toLowerCase()
  })
}
