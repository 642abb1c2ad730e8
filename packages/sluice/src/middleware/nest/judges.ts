import type { ExecutionContext } from "@nestjs/common"
import { createJudge, type Judge } from "../../http/judge.js"
import type { Judgement, RateLimitOptions } from "../../http/options.js"
import { watch } from "../node.js"
import { routeOptions } from "../route-options.js"
import { httpRequestOf, nodeResponse, setHeaders } from "./exchange.js"
import type { HttpExchange, NestOptions } from "./options.js"

type Options = RateLimitOptions<object>

/** The outcomes for each request, by the options that decided it. */
const judgements = new WeakMap<object, Map<object, Promise<Judgement>>>()

/** Decides the requests of one `RateLimitModule`, with its own options or with those of the route. */
export class Judges {
  readonly #options: Options
  readonly #getHttp: NestOptions["getHttp"]
  readonly #forAll: Judge<object> | undefined
  readonly #ofRoutes = new WeakMap<Options, Judge<object>>()

  constructor({ getHttp, ...options }: NestOptions<object>) {
    this.#options = options
    this.#getHttp = getHttp
    const limited = options.policy !== undefined || options.limiter !== undefined
    this.#forAll = limited ? createJudge(options) : undefined
  }

  /** The HTTP request of a context. Undefined if there is none to limit. */
  httpOf(context: ExecutionContext): HttpExchange | undefined {
    if (context.getType() !== "http") return this.#getHttp?.(context)
    const http = context.switchToHttp()
    return { req: http.getRequest(), res: http.getResponse() }
  }

  /**
   * Decides a request and sets the headers of its response.
   * The same options count a request once, even if several guards or several fields of a GraphQL query call this.
   */
  judge(exchange: HttpExchange, own: Options | undefined): Promise<Judgement> | undefined {
    const judge = own === undefined ? this.#forAll : this.#ofRoute(own)
    if (judge === undefined) return undefined
    const by = own ?? this.#options
    const known = judgements.get(exchange.req) ?? new Map<object, Promise<Judgement>>()
    judgements.set(exchange.req, known)
    const judgement = known.get(by) ?? judged(judge, exchange)
    known.set(by, judgement)
    return judgement
  }

  #ofRoute(own: Options): Judge<object> {
    const judge = this.#ofRoutes.get(own) ?? createJudge(routeOptions(this.#options, own))
    this.#ofRoutes.set(own, judge)
    return judge
  }
}

async function judged(judge: Judge<object>, exchange: HttpExchange): Promise<Judgement> {
  const judgement = await judge(exchange.req, httpRequestOf(exchange))
  const { denial, headers, finish } = judgement
  if (denial === undefined) setHeaders(exchange.res, headers)
  else setHeaders(exchange.res, withoutType(denial.headers))
  if (finish !== undefined) watch(nodeResponse(exchange.res), finish)
  return judgement
}

/** The headers of a denial without its content type, because an exception filter may send another body. */
function withoutType({ "Content-Type": _, ...headers }: Readonly<Record<string, string>>) {
  return headers
}
