import { levelOf } from "../../algorithm.js"
import { wholeMilliseconds } from "../../clock.js"
import type { Twin } from "../twin.js"
import type { BucketTerms } from "./bucket-terms.js"
import { timeOf, unitsIn } from "./bucket-time.js"

export const bucketTwin: Twin<BucketTerms> = {
  name: "bucket",

  sent({ parts, span, spanPart, cost, costPart, reach, step, life, queue }) {
    return {
      span,
      cost,
      reach,
      ...(queue === 1 && { queue }),
      ...(parts > 1 && { parts, spanPart, costPart }),
      ...(step > 0 && { step, life }),
    }
  },

  plain({ parts, costPieces, spanPieces, reach }, count) {
    return Number.isNaN(spanPieces) ? undefined : [count * costPieces, spanPieces, parts, reach]
  },

  width: ({ parts, step }) => (step > 0 ? 3 : parts > 1 ? 2 : 1),

  anyCost: true,

  before({ parts, cost, costPart }, level, times) {
    const pieces = times * costPart
    const carry = Math.floor(pieces / parts)
    const part = (level[1] ?? 0) - (pieces - carry * parts)
    const borrow = part < 0 ? 1 : 0
    const ahead = (level[0] as number) - times * cost - carry - borrow
    if (level.length === 1) return levelOf(ahead)
    return levelOf(ahead, part + borrow * parts, level[2])
  },

  later({ step }, level, us) {
    const ahead = level[0] as number
    if (level.length === 1) return levelOf(Math.max(ahead - us, 0))
    const part = level[1] as number
    if (step === 0) return ahead >= us ? levelOf(ahead - us, part) : levelOf(0, 0)
    const late = level[2] as number
    const steps = Math.floor((late + us) / step) * step
    return ahead >= steps ? levelOf(ahead - steps, part, late + us - steps) : levelOf(0, 0, 0)
  },

  holds: () => Number.POSITIVE_INFINITY,

  units(terms, [ahead, part = 0]) {
    const whole = unitsIn(ahead as number, part, terms)
    const [time, timePart] = timeOf(whole, terms.unit, terms.parts)
    return time === ahead && timePart === part ? whole : whole + 1
  },

  /** Of a bucket without steps. */
  explainPlain({ parts, step, costPieces, spanPieces, capacity, unit }, level, times, us) {
    if (step > 0 || Number.isNaN(spanPieces)) return undefined
    const then = (level[0] as number) * parts + (level[1] ?? 0)
    const ahead = Math.max(then - times * costPieces - us * parts, 0)
    return {
      limit: capacity,
      remaining: Math.max(Math.floor((spanPieces - ahead) / unit), 0),
      resetAfter: wholeMilliseconds(Math.ceil(ahead / parts)),
    }
  },
}

/** The same of a bucket by steps, whose plain asks are looked at in another way. */
export const stepwiseTwin: Twin<BucketTerms> = {
  ...bucketTwin,
  name: "stepwise",

  plain(terms, count) {
    const plain = bucketTwin.plain(terms, count)
    return plain && [...plain, terms.step, terms.life]
  },
}
