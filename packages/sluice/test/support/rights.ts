import { readFileSync } from "node:fs"

/** The words of an `ACL SETUSER` line in a page of the docs, from the name of the user on. */
export function ruleIn(page: string, index = 0): string[] {
  const text = readFileSync(new URL(`../../../../docs/${page}`, import.meta.url), "utf8")
  const rule = [...text.matchAll(/^ACL SETUSER (sluice.*)$/gm)][index]?.[1]
  if (rule === undefined) throw new Error(`docs/${page} has no line ACL SETUSER sluice with index ${index}`)
  return rule.split(" ")
}

/** The rights for every command that some Lua calls. */
export function rightsFor(...texts: readonly string[]): string[] {
  return [...new Set(texts.flatMap(commandsIn))].sort().map((command) => `+${command}`)
}

/** The commands that a script calls, each by a quoted name. Any other form of call throws. */
export function commandsIn(lua: string): string[] {
  const calls = lua
    .replaceAll(/^local call, try, decode_json$|\bif not call then bind\(\) end/gm, "")
    .replaceAll(/(local )?call(, try, decode_json)? = redis\.call(, redis\.pcall, cjson\.decode)?/g, "")
    .matchAll(/(?<!")\b(?:call|try)\b(?:\("([A-Z]+)")?|\bredis\.pcall\b/g)
  return Array.from(calls, ({ 0: text, 1: command, index }) => {
    if (command === undefined)
      throw new Error(`not a call of a command by its name: ${lua.slice(index, index + 40)} (${text})`)
    return command.toLowerCase()
  })
}
