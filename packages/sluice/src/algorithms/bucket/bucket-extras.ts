import type { Extras } from "../policy-kind.js"
import type { BucketParameters } from "./bucket-parameters.js"

const bucket: Extras<BucketParameters> = {
  luaName: "bucket",
  luaParameters: ({ parts, span, spanPart, cost, costPart, reach, step, life, queue }) => ({
    span,
    reach,
    one: cost,
    ...(queue === 1 && { queue }),
    ...(parts > 1 && { parts, span_part: spanPart, one_part: costPart }),
    ...(step > 0 && { step, life }),
  }),
  isScalable: ({ spanPieces }) => Number.isSafeInteger(2 * spanPieces),
  work: 4,
  describe: ([place = 0, part = 0, last = 0, low = 0, anchor = -1, lapsesAt = 0, given = 0]) => ({
    fullAt: (place - given) / 1_000,
    part,
    lastTurnAt: last / 1_000,
    low: Math.max(low, 0),
    ...(anchor >= 0 && { stepsFrom: anchor / 1_000, stepsUntil: lapsesAt / 1_000 }),
  }),
}

export default { tokenBucket: bucket, leakyBucket: bucket }
