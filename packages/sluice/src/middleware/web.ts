import { invalidOption } from "../http/invalid-option.js"
import { createJudge } from "../http/judge.js"
import type { Judgement, RateLimitOptions } from "../http/options.js"
import { fromRequest, responseTo, watched, withHeaders } from "./response.js"

interface AddressOption {
  /** Returns the client's address, for `clientKey`. It gets the request and all further arguments of the handler, such as Deno's. */
  readonly address: (request: Request, ...rest: never[]) => string | undefined
}

type Options = RateLimitOptions<Request>

/** A `Request` does not know the address of its client, so one of `key` and `address` is required. */
export type WebOptions = Options & ((Required<Pick<Options, "key">> & Partial<AddressOption>) | AddressOption)

/** A handler of the Fetch standard, with the further arguments that the platform passes. */
export type Handler<R extends Request, Rest extends unknown[]> = (
  request: R,
  ...rest: Rest
) => Response | PromiseLike<Response>

/** Wraps a handler for Next.js, Bun, Deno or Workers: `rateLimit({ policy, key })(handler)`. */
export function rateLimit({ address, ...options }: WebOptions) {
  if (typeof options.key !== "function" && typeof address !== "function") {
    throw invalidOption("sluice/web needs a key or an address, because a Request does not know its client")
  }
  const judge = createJudge(options)
  return <R extends Request, Rest extends unknown[]>(handler: Handler<R, Rest>): Handler<R, Rest> =>
    async (request, ...rest) => {
      const http = fromRequest(request, address?.(request, ...(rest as unknown as never[])))
      const { denial, headers, finish } = await judge(request, http)
      if (denial !== undefined) return responseTo(denial)
      const settle = finish && settler(finish, rest)
      try {
        const response = withHeaders(await handler(request, ...rest), headers)
        return settle === undefined ? response : watched(response, settle)
      } catch (error) {
        void settle?.("aborted")
        throw error
      }
    }
}

/** Workers stop after the response, unless `waitUntil` of their context gets a promise. */
function settler(finish: NonNullable<Judgement["finish"]>, rest: readonly unknown[]): typeof finish {
  const context = rest.find(hasWaitUntil)
  return async (outcome) => {
    const settled = finish(outcome)
    context?.waitUntil(settled)
    return settled
  }
}

function hasWaitUntil(value: unknown): value is { waitUntil(promise: Promise<unknown>): void } {
  return (
    typeof value === "object" &&
    value !== null &&
    "waitUntil" in value &&
    typeof value.waitUntil === "function"
  )
}
