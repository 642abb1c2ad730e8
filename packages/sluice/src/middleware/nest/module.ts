import {
  type DynamicModule,
  type FactoryProvider,
  Module,
  type ModuleMetadata,
  type Provider,
} from "@nestjs/common"
import { APP_FILTER, APP_GUARD } from "@nestjs/core"
import { shown } from "../../errors.js"
import { invalidOption } from "../../http/invalid-option.js"
import { RateLimitFilter } from "./exception.js"
import { RateLimitGuard } from "./guard.js"
import { Judges } from "./judges.js"
import type { NestOptions, NestRequest } from "./options.js"

interface GuardOption {
  /** `"manual"` limits only where you write `@UseGuards(RateLimitGuard)`, after your own guards. Default: `"global"`. */
  readonly guard?: "global" | "manual" | undefined
}

export interface RateLimitModuleOptions<R extends object = NestRequest> extends NestOptions<R>, GuardOption {}

export interface RateLimitModuleAsyncOptions<R extends object = NestRequest>
  extends GuardOption,
    Pick<ModuleMetadata, "imports"> {
  /** The providers that Nest passes to the factory. */
  readonly inject?: FactoryProvider["inject"]
  // biome-ignore lint/suspicious/noExplicitAny: Nest passes what `inject` names, which no type can follow.
  readonly useFactory: (...args: any[]) => NestOptions<R> | Promise<NestOptions<R>>
}

/** Rate limits for Nest 11 and 12, on Express and on Fastify. */
@Module({})
// biome-ignore lint/complexity/noStaticOnlyClass: Nest knows a module by its class.
export class RateLimitModule {
  /** Limits every route by these options: `imports: [RateLimitModule.forRoot({ policy })]`. */
  static forRoot<R extends object = NestRequest>({
    guard,
    ...options
  }: RateLimitModuleOptions<R> = {}): DynamicModule {
    return RateLimitModule.forRootAsync<R>({ guard, useFactory: () => options })
  }

  /** The same, with options from a factory: for a store or a policy that other modules provide. */
  static forRootAsync<R extends object = NestRequest>({
    guard = "global",
    imports = [],
    inject = [],
    useFactory,
  }: RateLimitModuleAsyncOptions<R>): DynamicModule {
    if (guard !== "global" && guard !== "manual") {
      throw invalidOption(`guard must be "global" or "manual", got ${shown(guard)}`)
    }
    const judges: Provider = {
      provide: Judges,
      inject,
      useFactory: async (...args) => new Judges((await useFactory(...args)) as NestOptions<object>),
    }
    const everywhere: Provider[] =
      guard === "global" ? [{ provide: APP_GUARD, useExisting: RateLimitGuard }] : []
    return {
      module: RateLimitModule,
      global: true,
      imports,
      providers: [judges, RateLimitGuard, { provide: APP_FILTER, useClass: RateLimitFilter }, ...everywhere],
      exports: [Judges, RateLimitGuard],
    }
  }
}
