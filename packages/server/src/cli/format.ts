import type { Terminal } from "./command.js"

/** Characters that could move the cursor, hide text or reverse it. Keys come from strangers. Emoji need the joiner U+200D. */
const unsafe = /(?!\u200d)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** A text from outside as one safe line, cut to `most` characters. */
export function printable(text: string, most = 256): string {
  const cut = text.length > most ? `${text.slice(0, most)}…` : text
  return cut.replaceAll(unsafe, (each) => `\\u{${(each.codePointAt(0) as number).toString(16)}}`)
}

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const

export type Paint = (colour: keyof typeof codes, text: string) => string

/** Colours text on a terminal, and leaves it alone elsewhere or with NO_COLOR. */
export function painter({ isInteractive, env }: Pick<Terminal, "isInteractive" | "env">): Paint {
  if (!isInteractive || env["NO_COLOR"]) return (_, text) => text
  return (colour, text) => `\u001b[${codes[colour]}m${text}\u001b[0m`
}

/** Rows with columns of equal width. Columns named in `right` are aligned to the right. */
export function table(rows: readonly (readonly string[])[], right: readonly number[] = []): string[] {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => [...(row[i] ?? "")].length)))
  return rows.map((row) =>
    row
      .map((cell, i) => {
        const space = " ".repeat(Math.max(0, (widths[i] as number) - [...cell].length))
        return right.includes(i) ? `${space}${cell}` : `${cell}${space}`
      })
      .join("  ")
      .trimEnd(),
  )
}

/** A number with commas: 1,234,567. */
export function count(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: 0 })
}

/** A rate with one digit after the point while it is small. */
export function rate(perSecond: number): string {
  return perSecond < 10 ? perSecond.toFixed(1) : count(perSecond)
}

/** A share in per cent. A share that is not 0 never reads as 0 %. */
export function percent(share: number): string {
  if (share > 0 && share < 0.001) return "< 0.1 %"
  return `${(share * 100).toFixed(1)} %`
}

/** Milliseconds in a readable unit. */
export function duration(ms: number): string {
  if (ms === Number.POSITIVE_INFINITY) return "never"
  if (ms < 1_000) return `${ms < 10 && !Number.isInteger(ms) ? ms.toFixed(2) : Math.round(ms)} ms`
  if (ms < 120_000) return `${Number((ms / 1_000).toFixed(1))} s`
  if (ms < 7_200_000) return `${Number((ms / 60_000).toFixed(1))} min`
  if (ms < 172_800_000) return `${Number((ms / 3_600_000).toFixed(1))} h`
  return `${Number((ms / 86_400_000).toFixed(1))} days`
}

export function bytes(value: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB"]
  const power = value < 1_000 ? 0 : Math.min(4, Math.floor(Math.log10(value) / 3))
  return `${power === 0 ? value : (value / 1_000 ** power).toFixed(1)} ${units[power]}`
}

/** JSON on one line or several. An infinite wait becomes null, because JSON has no infinity. */
export function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`
}
