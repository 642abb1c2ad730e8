/** Notes what happens, and the first law that is broken. */
export class LawBook {
  readonly #now: () => number
  readonly lines: string[] = []
  #hash = 2_166_136_261
  broken: { readonly law: string; readonly what: string } | undefined

  constructor(now: () => number) {
    this.#now = now
  }

  /** Notes something that happened to a process or a server. */
  note(who: string, what: string): void {
    const line = `${(this.#now() / 1_000_000).toFixed(6)} ${who} ${what}`
    this.lines.push(line)
    let hash = this.#hash
    for (let i = 0; i < line.length; i += 1) hash = Math.imul(hash ^ line.charCodeAt(i), 16_777_619)
    this.#hash = hash
  }

  /** Tells one trace from another. */
  get hash(): string {
    return `${this.lines.length}:${(this.#hash >>> 0).toString(16)}`
  }

  /** A law, by a few words that name it, and what has broken it. */
  breach(law: string, what: string): void {
    this.broken ??= { law, what }
    this.note("LAW", `${law}: ${what}`)
  }

  require(holds: boolean, law: string, what: () => string): void {
    if (!holds) this.breach(law, what())
  }
}
