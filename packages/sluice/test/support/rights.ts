import { readFileSync } from "node:fs"

/** The words of the rule in a page of the docs, `ACL SETUSER` left out. */
export function ruleIn(page: string): string[] {
  const text = readFileSync(new URL(`../../../../docs/${page}`, import.meta.url), "utf8")
  const rule = /^ACL SETUSER (sluice .+)$/m.exec(text)?.[1]
  if (rule === undefined) throw new Error(`docs/${page} has no line ACL SETUSER sluice`)
  return rule.split(" ")
}
