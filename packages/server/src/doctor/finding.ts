/** The result of one examination. */
export interface Finding {
  /** The thing that was examined, in a word. */
  readonly check: string
  /** `skipped`: it could not be examined, because a right is missing or an earlier problem prevents it. */
  readonly level: "ok" | "warning" | "problem" | "skipped"
  readonly message: string
  /** What to change. */
  readonly fix?: string
}

export function finding(check: string, level: Finding["level"], message: string, fix?: string): Finding {
  return { check, level, message, ...(fix !== undefined && { fix }) }
}
