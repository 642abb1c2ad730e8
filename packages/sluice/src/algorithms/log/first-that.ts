/** The first entry from `low` on that holds, or `high`; those that hold come after those that do not. */
export function firstThat(holds: (entry: number) => boolean, low: number, high: number): number {
  // most often it is the first or near it: double the stride, then halve it
  let below = low - 1
  let stride = 1
  while (below + stride < high && !holds(below + stride)) {
    below += stride
    stride *= 2
  }
  let above = Math.min(below + stride, high)
  while (above - below > 1) {
    const middle = Math.floor((below + above) / 2)
    if (holds(middle)) above = middle
    else below = middle
  }
  return above
}
