/** `a × b / c` for whole numbers, exactly: the whole part and what is left over. */
export function divide(a: number, b: number, c: number): [whole: number, rest: number] {
  const product = a * b
  if (Number.isSafeInteger(product)) return [Math.floor(product / c), product % c]
  const exact = BigInt(a) * BigInt(b)
  return [Number(exact / BigInt(c)), Number(exact % BigInt(c))]
}
