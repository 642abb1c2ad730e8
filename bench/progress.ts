/** Says on stderr what is being done: one line that changes on a terminal, one line per case elsewhere. */
export interface Progress {
  step(what: string): void
  end(): void
}

/** Where in a run a case stands. */
export interface Turn {
  readonly number: number
  readonly total: number
  /** When the run was started, in milliseconds since the epoch. */
  readonly startedAt: number
}

export function progressOf(
  { number, total, startedAt }: Turn,
  title: string,
  { stderr } = process,
): Progress {
  const draw = (what: string) => {
    const seconds = Math.round((Date.now() - startedAt) / 1_000)
    const line = `[${number} of ${total}, ${seconds} s] ${title}${what === "" ? "" : `: ${what}`}`
    if (stderr.isTTY) stderr.write(`\r${line.slice(0, (stderr.columns ?? 80) - 1)}\x1b[K`)
    else if (what === "") stderr.write(`${line}\n`)
  }
  draw("")
  return {
    step: draw,
    end() {
      if (stderr.isTTY) stderr.write("\r\x1b[K")
    },
  }
}
