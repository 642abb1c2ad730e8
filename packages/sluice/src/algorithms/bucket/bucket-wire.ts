import type { WireFormat } from "../policy-kind.js"
import type { BucketParameters } from "./bucket-parameters.js"

const bucket: WireFormat<BucketParameters> = {
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
}

export default { tokenBucket: bucket, leakyBucket: bucket }
