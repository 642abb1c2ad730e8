/** One mistake in a configuration file. Lines and columns count from 1. */
export interface Problem {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly message: string
}

/** A configuration that cannot be used, with all of its problems. */
export class ConfigError extends Error {
  override readonly name = "ConfigError"
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[]) {
    super(problems.map(problemText).join("\n"))
    this.problems = problems
  }
}

/** A problem as editors and terminals show it: `sluice.yaml:3:5: message`. */
export function problemText({ file, line, column, message }: Problem): string {
  return `${file}:${line}:${column}: ${message}`
}
