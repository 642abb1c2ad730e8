import type { Cursor } from "./cursor.js"

/** The variables that a configuration may use. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Reads a text in which `${NAME}` stands for a variable of the environment. */
export function withVariables(cursor: Cursor, env: Environment): string | undefined {
  const text = cursor.text()
  return text?.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => {
    const value = env[name]
    if (value === undefined) cursor.fail(`the variable ${name} is not set in the environment`)
    return value ?? "unset"
  })
}
