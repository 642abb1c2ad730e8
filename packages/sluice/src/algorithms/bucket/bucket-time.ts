/** The time that `units` take, as whole microseconds and the part left over. */
export function timeOf(units: number, unit: number, parts: number): [whole: number, part: number] {
  const pieces = units * unit
  if (Number.isSafeInteger(pieces)) return [Math.floor(pieces / parts), pieces % parts]
  const exact = BigInt(units) * BigInt(unit)
  return [Number(exact / BigInt(parts)), Number(exact % BigInt(parts))]
}

/** How many whole units a time is worth. */
export function unitsIn(
  whole: number,
  part: number,
  { parts, unit }: { readonly parts: number; readonly unit: number },
): number {
  const pieces = whole * parts + part
  if (Number.isSafeInteger(pieces)) return Math.floor(pieces / unit)
  return Number((BigInt(whole) * BigInt(parts) + BigInt(part)) / BigInt(unit))
}

/** As many pieces of another size as hold this part, rounded up: what was spent stays spent. */
export function rescaled(part: number, from: number, to: number): number {
  if (part === 0 || from === to) return part
  const product = part * to
  return Number.isSafeInteger(product + from) ? Math.floor((product + from - 1) / from) : to
}

/** How long until the step at or after a time from the last one, which was `late` ago. */
export function untilStep(us: number, step: number, late: number): number {
  return us > 0 && step > 0 ? Math.ceil(us / step) * step - late : us
}
