import { type CanActivate, type ExecutionContext, Inject, Injectable } from "@nestjs/common"
import { Reflector } from "@nestjs/core"
import { ROUTE, type RouteLimit } from "./decorators.js"
import { RateLimitException } from "./exception.js"
import { Judges } from "./judges.js"

/** Limits requests to a controller or a route. `RateLimitModule` mounts it for all, unless its `guard` is `"manual"`. */
@Injectable()
export class RateLimitGuard implements CanActivate {
  readonly #judges: Judges
  readonly #reflector: Reflector

  constructor(@Inject(Judges) judges: Judges, @Inject(Reflector) reflector: Reflector) {
    this.#judges = judges
    this.#reflector = reflector
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const places = [context.getHandler(), context.getClass()]
    const own = this.#reflector.getAllAndOverride<RouteLimit | undefined>(ROUTE, places)
    if (own === false) return true
    const exchange = this.#judges.httpOf(context)
    if (exchange === undefined) return true
    const judgement = await this.#judges.judge(exchange, own)
    if (judgement?.denial !== undefined) throw new RateLimitException(judgement.denial)
    return true
  }
}
