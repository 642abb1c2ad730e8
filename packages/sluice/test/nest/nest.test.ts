import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
  Get,
  HttpException,
  Module,
  type ModuleMetadata,
  UseGuards,
} from "@nestjs/common"
import { APP_FILTER, Reflector } from "@nestjs/core"
import { createLimiter, fixedWindow, memoryStore, type Store } from "sluice"
import { RateLimit, RateLimitException, RateLimitGuard, RateLimitModule, SkipRateLimit } from "sluice/nest"
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest"
import { appOf, listening, type Platform, platforms } from "./app.js"

const perMinute = (limit: number) => fixedWindow({ limit, window: "1m" })

@Controller()
class Plain {
  @Get("plain")
  plain() {
    return "done"
  }
}

/** Starts an application and returns a function that calls it path by path. */
async function serve(metadata: ModuleMetadata, platform: Platform = "Express") {
  const app = await appOf(platform, metadata)
  const { url, close } = await listening(app)
  onTestFinished(close)
  const call = (path: string, headers: Record<string, string> = {}) => fetch(`${url}/${path}`, { headers })
  const statuses = async (...paths: string[]) => {
    const all: number[] = []
    for (const path of paths) all.push((await call(path)).status)
    return all
  }
  return { app, call, statuses }
}

describe.each(Object.keys(platforms) as Platform[])("decorators on %s", (platform) => {
  @Controller("mixed")
  @RateLimit({ policy: perMinute(2) })
  class Mixed {
    @Get("class")
    ofClass() {
      return "done"
    }

    @Get("own")
    @RateLimit({ policy: { burst: perMinute(1), daily: fixedWindow({ limit: 9, window: "1d" }) } })
    own() {
      return "done"
    }

    @Get("free")
    @SkipRateLimit()
    free() {
      return "done"
    }
  }

  test("a route's limit comes before that of its controller, which comes before that of the module", async () => {
    const { call, statuses } = await serve(
      { imports: [RateLimitModule.forRoot({ policy: perMinute(3) })], controllers: [Plain, Mixed] },
      platform,
    )
    expect(await statuses("plain", "plain", "plain", "plain")).toEqual([200, 200, 200, 429])
    expect(await statuses("mixed/class", "mixed/class", "mixed/class")).toEqual([200, 200, 429])
    expect(await statuses("mixed/own", "mixed/own")).toEqual([200, 429])
    const denied = await call("mixed/own")
    expect(denied.headers.get("ratelimit-policy")).toBe('"burst";q=1;w=60, "daily";q=9;w=86400')
    expect(denied.headers.get("ratelimit")).toMatch(/"burst";r=0;t=\d+, "daily";r=8;t=\d+/)
  })

  test("a route with SkipRateLimit is not limited, even if its controller is", async () => {
    const { call, statuses } = await serve(
      { imports: [RateLimitModule.forRoot({ policy: perMinute(1) })], controllers: [Mixed] },
      platform,
    )
    expect(await statuses("mixed/free", "mixed/free", "mixed/free")).toEqual([200, 200, 200])
    expect((await call("mixed/free")).headers.has("ratelimit")).toBe(false)
  })
})

describe("a route's options", () => {
  test("inherit the policy and the key of the module, and may override the cost", async () => {
    @Controller()
    class Heavy {
      @Get("heavy")
      @RateLimit({ cost: 3 })
      heavy() {
        return "done"
      }
    }
    const all = { policy: perMinute(4), store: memoryStore(), key: () => "everybody" }
    const { statuses } = await serve({
      imports: [RateLimitModule.forRoot(all)],
      controllers: [Plain, Heavy],
    })
    expect(await statuses("heavy", "plain", "plain", "heavy")).toEqual([200, 200, 429, 429])
  })

  test("alone limit when the module has no policy", async () => {
    @Controller()
    class Login {
      @Get("login")
      @RateLimit({ policy: perMinute(1) })
      login() {
        return "done"
      }
    }
    const { statuses } = await serve({ imports: [RateLimitModule.forRoot()], controllers: [Plain, Login] })
    expect(await statuses("plain", "plain", "login", "login")).toEqual([200, 200, 200, 429])
  })

  test("are charged once when two modules limit the application", async () => {
    const limiter = createLimiter({ policy: perMinute(9) })
    @Controller()
    class Login {
      @Get("login")
      @RateLimit({ limiter, key: () => "k" })
      login() {
        return "done"
      }
    }
    const two = [
      RateLimitModule.forRoot({ policy: perMinute(5) }),
      RateLimitModule.forRoot({ policy: perMinute(7) }),
    ]
    const { statuses } = await serve({ imports: two, controllers: [Login] })
    expect(await statuses("login")).toEqual([200])
    expect(await limiter.peek("k")).toMatchObject({ remaining: 8 })
  })

  test("that are wrong fail when the class is defined", () => {
    const wrong = { policy: perMinute(1), limit: 5 }
    expect(() => RateLimit(wrong)).toThrow(/rateLimit has no field "limit"/)
  })
})

describe("RateLimitModule", () => {
  test("with a wrong option fails when the application starts", async () => {
    const wrong = { policy: perMinute(1), limit: 5 }
    await expect(serve({ imports: [RateLimitModule.forRoot(wrong)] })).rejects.toThrow(
      /rateLimit has no field "limit"/,
    )
  })

  test("with an unknown guard fails", () => {
    const wrong = { policy: perMinute(1), guard: "off" as "manual" }
    expect(() => RateLimitModule.forRoot(wrong)).toThrow('guard must be "global" or "manual", got "off"')
  })

  test("takes its options from a factory with injected providers", async () => {
    const STORE = Symbol("store")
    @Module({ providers: [{ provide: STORE, useFactory: () => memoryStore() }], exports: [STORE] })
    class StoreModule {}
    const useFactory = vi.fn(async (store: Store) => ({ policy: perMinute(1), store, name: "injected" }))
    const limited = RateLimitModule.forRootAsync({ imports: [StoreModule], inject: [STORE], useFactory })
    const { app, statuses } = await serve({ imports: [limited], controllers: [Plain] })
    expect(await statuses("plain", "plain")).toEqual([200, 429])
    expect(useFactory).toHaveBeenCalledExactlyOnceWith(app.get(STORE, { strict: false }))
  })

  test("with a manual guard limits only where the guard is used, after the guards before it", async () => {
    class Authentication {
      canActivate(context: ExecutionContext) {
        const request = context.switchToHttp().getRequest()
        request.user = request.headers["x-user"]
        return true
      }
    }
    @Controller()
    class Account {
      @Get("account")
      @UseGuards(Authentication, RateLimitGuard)
      account() {
        return "done"
      }
    }
    const options = {
      policy: perMinute(1),
      guard: "manual",
      key: ({ user }: { user: string }) => user,
    } as const
    const { call, statuses } = await serve({
      imports: [RateLimitModule.forRoot(options)],
      controllers: [Plain, Account],
    })
    expect(await statuses("plain", "plain")).toEqual([200, 200])
    const as = async (user: string) => (await call("account", { "x-user": user })).status
    expect([await as("ann"), await as("bob"), await as("ann")]).toEqual([200, 200, 429])
  })

  test("shares counters between modules of the application that use the guard", async () => {
    @Controller()
    @UseGuards(RateLimitGuard)
    class First {
      @Get("first")
      first() {
        return "done"
      }
    }
    @Controller()
    @UseGuards(RateLimitGuard)
    class Second {
      @Get("second")
      second() {
        return "done"
      }
    }
    @Module({ controllers: [First] })
    class FirstModule {}
    @Module({ controllers: [Second] })
    class SecondModule {}
    const limited = RateLimitModule.forRoot({ policy: perMinute(2), guard: "manual" })
    const { statuses } = await serve({ imports: [limited, FirstModule, SecondModule] })
    expect(await statuses("first", "second", "first", "second")).toEqual([200, 200, 429, 429])
  })

  test("charges a request once when its guard is both global and on the route", async () => {
    @Controller()
    class Twice {
      @Get("twice")
      @UseGuards(RateLimitGuard)
      twice() {
        return "done"
      }
    }
    const { statuses } = await serve({
      imports: [RateLimitModule.forRoot({ policy: perMinute(2) })],
      controllers: [Twice],
    })
    expect(await statuses("twice", "twice", "twice")).toEqual([200, 200, 429])
  })
})

describe.each(Object.keys(platforms) as Platform[])("an exception filter on %s", (platform) => {
  @Catch()
  class Own implements ExceptionFilter {
    catch(exception: HttpException, host: ArgumentsHost) {
      const response = host.switchToHttp().getResponse()
      response.status(exception.getStatus()).send({ error: exception.getResponse(), own: true })
    }
  }

  test("of the application answers a denial, which carries the rate limit headers", async () => {
    const app = await appOf(platform, {
      imports: [RateLimitModule.forRoot({ policy: perMinute(1) })],
      controllers: [Plain],
    })
    app.useGlobalFilters(new Own())
    const { url, close } = await listening(app)
    onTestFinished(close)
    await fetch(`${url}/plain`)
    const denied = await fetch(`${url}/plain`)
    expect(denied.status).toBe(429)
    expect(denied.headers.get("content-type")).toMatch(/^application\/json/)
    expect(denied.headers.get("retry-after")).toMatch(/^(59|60)$/)
    expect(denied.headers.get("cache-control")).toBe("no-store")
    expect(await denied.json()).toEqual({ error: expect.objectContaining({ status: 429 }), own: true })
  })

  test("of the module answers a denial before a filter for all exceptions in another module", async () => {
    const { call } = await serve(
      {
        imports: [RateLimitModule.forRoot({ policy: perMinute(1) })],
        controllers: [Plain],
        providers: [{ provide: APP_FILTER, useClass: Own }],
      },
      platform,
    )
    await call("plain")
    expect((await call("plain")).headers.get("content-type")).toBe("application/problem+json")
  })
})

test("a denial is an HttpException with the decision", () => {
  const denial = { status: 429, headers: {}, body: '{"title":"Quota Exceeded"}', decision: undefined }
  const exception = new RateLimitException(denial)
  expect(exception).toBeInstanceOf(HttpException)
  expect(exception.getStatus()).toBe(429)
  expect(exception.getResponse()).toEqual({ title: "Quota Exceeded" })
  expect(exception.denial).toBe(denial)
  expect(new RateLimitException({ ...denial, body: "slow down" }).getResponse()).toBe("slow down")
})

describe("a context that is not HTTP", () => {
  const limiter = createLimiter({ policy: perMinute(2) })
  afterEach(() => limiter.reset("k"))

  /** The guard of a module, and a context as a resolver or a gateway would make it. */
  async function guardWith(options: Parameters<typeof RateLimitModule.forRoot>[0], type: string) {
    const { app } = await serve({ imports: [RateLimitModule.forRoot(options)] })
    expect(app.get(Reflector)).toBeDefined()
    const guard = app.get(RateLimitGuard, { strict: false })
    const contextOf = (http: object) =>
      ({
        getType: () => type,
        getHandler: () => contextOf,
        getClass: () => Plain,
        getArgs: () => [undefined, {}, http],
        switchToHttp: () => {
          throw new Error("this is not HTTP")
        },
      }) as unknown as ExecutionContext
    return { guard, contextOf }
  }

  test.each(["ws", "rpc", "graphql"])("passes and is not charged: %s", async (type) => {
    const { guard, contextOf } = await guardWith({ limiter, key: () => "k" }, type)
    for (let i = 0; i < 5; i += 1) expect(await guard.canActivate(contextOf({}))).toBe(true)
    expect(await limiter.peek("k")).toMatchObject({ remaining: 2 })
  })

  test("is limited by the HTTP request that getHttp finds, once for all fields of a query", async () => {
    const getHttp = (context: ExecutionContext) => context.getArgs()[2]
    const { guard, contextOf } = await guardWith({ limiter, key: () => "k", getHttp }, "graphql")
    const setHeader = vi.fn()
    const query = () => contextOf({ req: { headers: {}, socket: {} }, res: { setHeader } })
    const first = query()
    expect(await Promise.all([1, 2, 3].map(() => guard.canActivate(first)))).toEqual([true, true, true])
    expect(await limiter.peek("k")).toMatchObject({ remaining: 1 })
    expect(setHeader).toHaveBeenCalledWith("RateLimit-Policy", expect.stringContaining("q=2"))
    await guard.canActivate(query())
    await expect(guard.canActivate(query())).rejects.toBeInstanceOf(RateLimitException)
  })
})
