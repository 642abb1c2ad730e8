import { isMap, isScalar, LineCounter, type Node, parseDocument, visit } from "yaml"
import { distance } from "./distance.js"
import type { Problem } from "./problems.js"

type Path = readonly (string | number)[]

/** Aliases may repeat other nodes this often, so that a small file cannot become a huge one. */
const MOST_ALIASES = 1_000

/** A YAML file that was parsed. It finds the line and column of every value. */
export class ConfigFile {
  readonly name: string
  readonly problems: Problem[] = []
  readonly root: Cursor
  readonly #lines = new LineCounter()
  readonly #document

  constructor(name: string, text: string) {
    this.name = name
    this.#document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false, merge: true })
    for (const { message, pos } of this.#document.errors) this.#report(pos[0], message)
    this.root = new Cursor(this, this.#plain(), [])
  }

  #plain(): unknown {
    if (this.problems.length > 0) return undefined
    visit(this.#document, {
      Pair: (_, { key }) => {
        // The merge key << is a symbol.
        if (isScalar(key) && ["string", "symbol"].includes(typeof key.value)) return
        const at = (key as Node | null)?.range?.[0] ?? 0
        this.#report(at, `a key must be a string, got ${isScalar(key) ? String(key.value) : "a list or map"}`)
      },
    })
    try {
      return this.#document.toJS({ maxAliasCount: MOST_ALIASES })
    } catch (error) {
      this.#report(0, (error as Error).message)
      return undefined
    }
  }

  /** Notes a problem at a value, or at one of its keys. What an alias brought in has the position of the alias. */
  fail(path: Path, message: string, key?: string): void {
    this.#report(this.#offsetOf(path, key), message)
  }

  #offsetOf(path: Path, key: string | undefined): number {
    for (let length = path.length; length >= 0; length -= 1) {
      const node = this.#document.getIn(path.slice(0, length), true) as Node | undefined
      if (!node?.range) continue
      const found =
        key !== undefined && length === path.length && isMap(node) ? keyNode(node, key) : undefined
      return found?.range?.[0] ?? node.range[0]
    }
    return 0
  }

  /** The text of a scalar as it stands in the file, so that the value 007 is not 7. */
  sourceOf(path: Path): string | undefined {
    const node = this.#document.getIn(path, true)
    return isScalar(node) ? node.source : undefined
  }

  #report(offset: number, message: string): void {
    const { line, col } = this.#lines.linePos(offset)
    this.problems.push({ file: this.name, line: Math.max(line, 1), column: Math.max(col, 1), message })
  }
}

function keyNode(map: { items: { key: unknown }[] }, name: string): Node | undefined {
  const pair = map.items.find(({ key }) => isScalar(key) && key.value === name)
  return pair?.key as Node | undefined
}

/** A value in a configuration file. The methods that read it note a problem and return undefined if it is not as expected. */
export class Cursor {
  readonly file: ConfigFile
  readonly value: unknown
  readonly path: Path

  constructor(file: ConfigFile, value: unknown, path: Path) {
    this.file = file
    this.value = value
    this.path = path
  }

  /** Whether the value is there. A key without a value is not. */
  get exists(): boolean {
    return this.value !== undefined && this.value !== null
  }

  /** Its name in messages: the last key, or the position in a list. */
  get label(): string {
    const last = this.path.at(-1)
    if (last === undefined) return "the configuration"
    return typeof last === "number" ? `${String(this.path.at(-2))}[${last}]` : last
  }

  at(key: string | number): Cursor {
    const holder = this.value as Record<string | number, unknown> | undefined | null
    const isOwn = typeof holder === "object" && holder !== null && Object.hasOwn(holder, key)
    return new Cursor(this.file, isOwn ? holder[key] : undefined, [...this.path, key])
  }

  fail(message: string): undefined {
    this.file.fail(this.path, message)
    return undefined
  }

  /** Notes a problem at one of the keys of a map. */
  failAt(key: string, message: string): undefined {
    this.file.fail(this.path, message, key)
    return undefined
  }

  /** Reads a map that has only these keys. */
  map(known?: readonly string[]): Cursor | undefined {
    if (typeof this.value !== "object" || this.value === null || Array.isArray(this.value)) {
      return this.fail(`${this.label} must be a map, got ${shown(this.value)}`)
    }
    for (const key of Object.keys(this.value)) {
      if (known === undefined || known.includes(key)) continue
      this.failAt(key, `unknown key ${JSON.stringify(key)}${suggestion(key, known)}`)
    }
    return this
  }

  /** The keys and values of a map. */
  entries(): [string, Cursor][] {
    return Object.keys(this.value as object).map((key) => [key, this.at(key)])
  }

  /** The elements of a list. */
  list(): Cursor[] | undefined {
    if (!Array.isArray(this.value)) return this.fail(`${this.label} must be a list, got ${shown(this.value)}`)
    return this.value.map((_, i) => this.at(i))
  }

  /** A text that is not empty. A number or a boolean counts as the text in the file. */
  text(): string | undefined {
    const isScalarValue = ["string", "number", "boolean"].includes(typeof this.value)
    if (!isScalarValue) return this.fail(`${this.label} must be a text, got ${shown(this.value)}`)
    const text = typeof this.value === "string" ? this.value : (this.file.sourceOf(this.path) ?? "")
    return text === "" ? this.fail(`${this.label} must not be empty`) : text
  }

  flag(): boolean | undefined {
    if (typeof this.value === "boolean") return this.value
    return this.fail(`${this.label} must be true or false, got ${shown(this.value)}`)
  }

  integer(least: number, most: number): number | undefined {
    const { value } = this
    if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= most) return value
    return this.fail(`${this.label} must be an integer from ${least} to ${most}, got ${shown(value)}`)
  }

  choice<T extends string>(choices: readonly T[]): T | undefined {
    if (choices.includes(this.value as T)) return this.value as T
    return this.fail(`${this.label} must be one of ${choices.join(", ")}, got ${shown(this.value)}`)
  }
}

/** Reads a value if it is there. */
export function optional<T>(
  cursor: Cursor | undefined,
  read: (cursor: Cursor) => T | undefined,
): T | undefined {
  return cursor?.exists ? read(cursor) : undefined
}

/** A value in a message: short, and a text in quotes. */
export function shown(value: unknown): string {
  if (value === undefined || value === null) return "nothing"
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  if (typeof value === "object") return Array.isArray(value) ? "a list" : "a map"
  return String(value)
}

function suggestion(key: string, known: readonly string[]): string {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[^a-z]/g, "")
  const near = known.find((each) => distance(plain(each), plain(key)) <= 2)
  return near === undefined ? `; known keys are ${known.join(", ")}` : `; did you mean ${near}?`
}
