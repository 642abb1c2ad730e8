import type { Algorithm, State, View } from "../algorithm.js"
import type { Fields } from "../policy-fields.js"

/** An algorithm whose parameters, state and view only it can read. */
export type AnyAlgorithm = Algorithm<unknown, State, View>

/** How the policies of one `algorithm` count. */
export interface Counting {
  readonly algorithm: AnyAlgorithm
  /** The suffix of its keys, so that no policy ever reads the state of another algorithm. */
  readonly suffix: string
}

/** All that the core knows of the policies of one `algorithm`. */
export interface PolicyKind<P> extends Counting {
  /** Its options. */
  readonly fields: Fields
  /** The public function that makes such a policy. */
  readonly make: (options: never) => P
}

/** A kind for each policy of an algorithm. */
export type KindsOf<P extends { readonly algorithm: string }> = {
  readonly [Name in P["algorithm"]]: PolicyKind<Extract<P, { readonly algorithm: Name }>>
}

/** How a policy is sent to Lua. Only the Redis store imports it. */
export interface WireFormat<Parameters = never> {
  /** The name of the algorithm in Lua. */
  readonly luaName: string
  /** The parameters that Lua needs. */
  readonly luaParameters: (parameters: Parameters) => Readonly<Record<string, number>>
  /** Whether Lua can multiply the cost of one unit exactly. If not, a plan is for one cost only. Left out: always. */
  readonly isScalable?: (parameters: Parameters) => boolean
  /** Microseconds that a spend takes Redis in a large batch, as estimated. */
  readonly work: number
}
