const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

/** Parses a time as logs have it: `10/Oct/2026:13:55:36 +0200`, ISO 8601, or a number since the epoch. Milliseconds, or NaN. */
export function parseTime(value: string | number): number {
  if (typeof value === "number") return fromEpoch(value)
  if (/^\d+(\.\d+)?$/.test(value)) return fromEpoch(Number(value))
  if (value.charAt(2) === "/") return commonTime(value)
  const iso = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)\s?(Z|[+-]\d\d:?\d\d)?$/.exec(value)
  if (iso === null) return Number.NaN
  // A time without a zone is taken as UTC, so that the result does not depend on where it is computed.
  const zone = iso[3] ?? "Z"
  return Date.parse(
    `${iso[1]}T${(iso[2] as string).replace(",", ".")}${/\d{4}$/.test(zone) ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone}`,
  )
}

/** A number of seconds, milliseconds, microseconds or nanoseconds, by its size. */
function fromEpoch(value: number): number {
  if (!Number.isFinite(value) || value < 0) return Number.NaN
  if (value < 1e11) return value * 1_000
  if (value < 1e14) return value
  return value < 1e17 ? value / 1_000 : value / 1_000_000
}

function commonTime(text: string): number {
  const match = /^(\d\d)\/([A-Z][a-z]{2})\/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)$/.exec(text)
  const month = match === null ? -1 : months.indexOf(match[2] as string)
  if (match === null || month < 0) return Number.NaN
  const [day, year, hour, minute, second] = [1, 3, 4, 5, 6].map((i) => Number(match[i])) as [
    number,
    number,
    number,
    number,
    number,
  ]
  const offset = (Number(match[8]) * 60 + Number(match[9])) * 60_000 * (match[7] === "-" ? -1 : 1)
  return Date.UTC(year, month, day, hour, minute, second) - offset
}
