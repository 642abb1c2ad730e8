import {
  type Claim,
  type Cost,
  combine,
  type Decision,
  type Limiter,
  type Policies,
  SluiceError,
} from "sluice"
import type { Responder } from "sluice/http"
import type { ServerContext } from "../context.js"
import { sendDecision } from "./decision-reply.js"
import { problemOf } from "./error-handler.js"
import { HttpProblem, type ProblemBody, unknownLimiter } from "./problem.js"
import type { Route } from "./route.js"
import { costSchema, decisionSchema, keySchema, objectSchema, problemSchema, textSchema } from "./schemas.js"

interface BatchRequest {
  readonly limiter: string
  readonly key: string
  readonly cost?: Cost<Policies>
  readonly call?: "acquire" | "peek"
}

interface BatchBody {
  readonly requests: readonly BatchRequest[]
  readonly atomic?: boolean
}

/** A request of a batch that was checked. */
interface Checked {
  readonly limiter: Limiter
  readonly request: BatchRequest
  readonly claim: Claim
}

type Result = { readonly decision: Decision } | { readonly problem: ProblemBody }

/** The library combines at most as many. */
const MOST_REQUESTS = 64
const BODY_LIMIT = 256 * 1024

const requestSchema = objectSchema(
  {
    limiter: textSchema(4_096),
    key: keySchema,
    cost: costSchema,
    call: { type: "string", enum: ["acquire", "peek"], description: '"acquire" or "peek"' },
  },
  ["limiter", "key"],
)
const resultSchema = { type: "object", properties: { decision: decisionSchema, problem: problemSchema } }

/** Many decisions in one call. */
export function batchRoutes({ engine, logStoreError }: ServerContext, responder: Responder): Route[] {
  /** Checks a request without charging anything. */
  const check = (request: BatchRequest, index: number): Checked => {
    const limiter = engine.limiter(request.limiter)
    try {
      if (limiter === undefined) throw unknownLimiter(request.limiter)
      return { limiter, request, claim: limiter.on(request.key, optionsOf(request)) }
    } catch (error) {
      const { body } = problemOf(error as SluiceError, responder)
      const more = body.code === undefined ? {} : { code: body.code }
      throw new HttpProblem(body.status, `requests[${index}]: ${body.detail}`, more)
    }
  }

  const decide = async ({ limiter, request }: Checked): Promise<Result> => {
    try {
      const options = optionsOf(request)
      const isPeek = request.call === "peek"
      const decision = await (isPeek
        ? limiter.peek(request.key, options)
        : limiter.tryAcquire(request.key, options))
      return { decision }
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error
      logStoreError(error)
      return { problem: problemOf(error, responder).body }
    }
  }

  return [
    {
      method: "POST",
      url: "/v1/batch",
      summary: "Decides up to 64 requests. With atomic, all of them pass and are charged, or none.",
      body: objectSchema(
        {
          requests: {
            type: "array",
            minItems: 1,
            maxItems: MOST_REQUESTS,
            items: requestSchema,
            description: `an array of 1 to ${MOST_REQUESTS} requests`,
          },
          atomic: { type: "boolean", description: "true or false" },
        },
        ["requests"],
      ),
      bodyLimit: BODY_LIMIT,
      success: {
        status: 200,
        description: "A result per request, in their order. With atomic, one decision over all policies.",
        schema: {
          type: "object",
          properties: { results: { type: "array", items: resultSchema }, decision: decisionSchema },
        },
      },
      problems: [404, 429, 503],
      async handler({ body }, reply) {
        const { requests, atomic = false } = body as BatchBody
        const checked = requests.map(check)
        if (!atomic) return { results: await Promise.all(checked.map(decide)) }
        const combined = combine(checked.map(({ claim }) => claim))
        if (isPeek(requests)) {
          const decision = await combined.peek()
          return reply.headers(responder.headers(decision)).send({ decision })
        }
        const decision = await combined.tryAcquire()
        sendDecision(reply, responder, decision, undefined, { decision })
        return reply
      },
    },
  ]
}

function optionsOf({ cost }: BatchRequest) {
  return cost === undefined ? {} : { cost }
}

/** Whether an atomic batch peeks. Its requests must agree. */
function isPeek(requests: readonly BatchRequest[]): boolean {
  const peeks = requests.filter(({ call }) => call === "peek").length
  if (peeks === 0 || peeks === requests.length) return peeks > 0
  throw new HttpProblem(400, "an atomic batch must be all acquire or all peek")
}
