/**
 * A flat copy of a string, for tables that outlive the request. V8 makes a short key that was cut from a body a slice,
 * which keeps the whole body in memory.
 */
export function flatCopy(text: string): string {
  // V8 copies shorter slices by itself.
  if (text.length < 13) return text
  return JSON.parse(JSON.stringify(text)) as string
}
