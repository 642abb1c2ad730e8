/** Says on stderr what is being done: one line that changes on a terminal, one line per case elsewhere. */
export interface Progress {
  begin(title: string): void
  step(what: string): void
  end(): void
}

export function progressOf(total: number, { stderr } = process): Progress {
  const startedAt = performance.now()
  let [number, title] = [0, ""]
  const draw = (what: string) => {
    const seconds = Math.round((performance.now() - startedAt) / 1_000)
    const line = `[${number} of ${total}, ${seconds} s] ${title}${what === "" ? "" : `: ${what}`}`
    if (stderr.isTTY) stderr.write(`\r${line.slice(0, (stderr.columns ?? 80) - 1)}\x1b[K`)
    else if (what === "") stderr.write(`${line}\n`)
  }
  return {
    begin(next) {
      number += 1
      title = next
      draw("")
    },
    step: draw,
    end() {
      if (stderr.isTTY) stderr.write("\r\x1b[K")
    },
  }
}
