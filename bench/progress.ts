/** Says on stderr what is being done: one line that changes on a terminal, one line per case elsewhere. */
export interface Progress {
  step(what: string): void
  end(): void
}

/** Where in a run a case stands. */
export interface Turn {
  readonly number: number
  readonly total: number
  /** How many seconds the run still takes from the start of this case, as expected. */
  readonly secondsLeft: number
}

export function progressOf(
  { number, total, secondsLeft }: Turn,
  title: string,
  { stderr } = process,
): Progress {
  const startedAt = Date.now()
  const draw = (what: string) => {
    const left = secondsLeft - (Date.now() - startedAt) / 1_000
    const line = `[${number} of ${total}, ${remaining(left)}] ${title}${what === "" ? "" : `: ${what}`}`
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

function remaining(seconds: number): string {
  if (seconds >= 90) return `about ${Math.round(seconds / 60)} min left`
  return `about ${Math.max(1, Math.round(seconds))} s left`
}
