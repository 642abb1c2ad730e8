/** The largest Integer of RFC 9651: 15 digits. */
const LARGEST = 999_999_999_999_999

/** An Integer. Larger values are clamped, because one member that does not parse voids the whole field. */
export function sfInteger(value: number): string {
  return String(Math.min(Math.max(0, Math.ceil(value)), LARGEST))
}

/** Printable ASCII without the two characters that need a backslash. */
const plain = /^[ !#-[\]-~]*$/

/** A String. It holds printable ASCII only, so other characters are percent-encoded. */
export function sfString(value: string): string {
  if (plain.test(value)) return `"${value}"`
  const ascii = value.replace(/\p{Surrogate}/gu, "?").replace(/[^\x20-\x7e]/gu, encodeURIComponent)
  return `"${ascii.replace(/["\\]/g, "\\$&")}"`
}

/** A Byte Sequence of the UTF-8 bytes of a text. */
export function sfBytes(value: string): string {
  return `:${btoa(String.fromCharCode(...new TextEncoder().encode(value)))}:`
}
