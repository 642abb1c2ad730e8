import { mkdir, symlink, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { expect, inject, test } from "vitest"
import { createConsumer, root, run } from "./consumer.js"

const typescript5 = join(root, "peers/nest11/node_modules/typescript/bin/tsc")
const typescript7 = join(root, "node_modules/.bin/tsc")

const main = `
  import { createLimiter, type Decision, SluiceError, tokenBucket } from "sluice"
  import { limitedFetch } from "sluice/fetch"
  import { ioredis, redisStore } from "sluice/redis"
  import { manualClock } from "sluice/testing"
  const policy = tokenBucket({ capacity: 100, refill: 10, every: "1s" })
  const print = ({ allowed, remaining }: Decision) => console.log(allowed, remaining)
  const isOurs = (error: unknown): string | false => error instanceof SluiceError && error.code
  console.log(typeof limitedFetch, typeof ioredis, typeof redisStore, typeof manualClock, isOurs(new Error("x")))
  createLimiter({ name: "api", policy }).tryAcquire("user:42").then(print)
`
const printed = "function function function function false\ntrue 99\n"

test.each([
  ["TypeScript 5, node16, a CommonJS project", typescript5, "node16", "commonjs"],
  ["TypeScript 7, nodenext, a CommonJS project", typescript7, "nodenext", "commonjs"],
  ["TypeScript 7, nodenext, an ES module project", typescript7, "nodenext", "module"],
])("%s compiles against the package and runs", async (_, tsc, module, type) => {
  const compilerOptions = {
    strict: true,
    target: "es2022",
    module,
    outDir: "out",
    types: ["node"],
    rootDir: ".",
  }
  await using consumer = await createConsumer(inject("packed"), {
    "package.json": JSON.stringify({ private: true, type }),
    "main.ts": main,
    "tsconfig.json": JSON.stringify({ compilerOptions, files: ["main.ts"] }),
  })
  expect(await run(consumer.folder, tsc)).toBe("")
  expect(await run(consumer.folder, "node", "out/main.js")).toBe(printed)
})

test("a NestJS project in CommonJS, tested with Jest, uses the package", async () => {
  const nest = join(root, "peers/nest11/node_modules")
  const files = {
    "package.json": JSON.stringify({
      private: true,
      jest: {
        testRegex: "\\.spec\\.ts$",
        transform: { "^.+\\.ts$": ["ts-jest", { tsconfig: "tsconfig.json" }] },
        testEnvironment: "node",
        // Files under a folder of symlinks are found by their real paths, outside this project.
        moduleDirectories: ["node_modules", nest, join(root, "node_modules")],
        watchman: false,
      },
    }),
    // What "nest new" writes, as far as it matters here.
    "tsconfig.json": JSON.stringify({
      compilerOptions: {
        ...{ module: "node16", target: "es2023", strict: true, esModuleInterop: true, skipLibCheck: true },
        ...{ emitDecoratorMetadata: true, experimentalDecorators: true, isolatedModules: true },
        types: ["node", "jest"],
      },
    }),
    "src/app.module.ts": `
      import { Controller, Get, Module } from "@nestjs/common"
      import { fixedWindow } from "sluice"
      import { RateLimit, RateLimitModule, SkipRateLimit } from "sluice/nest"

      @Controller()
      class AppController {
        @Get()
        hello() { return "hello" }

        @Get("search")
        @RateLimit({ policy: fixedWindow({ limit: 1, window: "1m" }) })
        search() { return "found" }

        @Get("health")
        @SkipRateLimit()
        health() { return "ok" }
      }

      @Module({
        imports: [RateLimitModule.forRoot({ policy: fixedWindow({ limit: 2, window: "1m" }) })],
        controllers: [AppController],
      })
      export class AppModule {}
    `,
    "src/app.spec.ts": `
      import type { INestApplication } from "@nestjs/common"
      import { Test } from "@nestjs/testing"
      import { createLimiter, fixedWindow, SluiceError } from "sluice"
      import { manualClock } from "sluice/testing"
      import { AppModule } from "./app.module"

      let app: INestApplication
      beforeAll(async () => {
        const module = await Test.createTestingModule({ imports: [AppModule] }).compile()
        app = module.createNestApplication()
        await app.listen(0, "127.0.0.1")
      })
      afterAll(() => app.close())

      test("the third request is denied with Retry-After, and other routes are not", async () => {
        const get = async (path: string) => fetch((await app.getUrl()) + path)
        const answers = [await get("/"), await get("/"), await get("/")]
        expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
        expect(answers[2]?.headers.get("retry-after")).toBe("60")
        expect((await get("/search")).status).toBe(200)
        expect((await get("/search")).status).toBe(429)
        expect((await get("/health")).status).toBe(200)
      })

      test("a limiter is tested on a manual clock", async () => {
        expect(() => fixedWindow({ limit: 0, window: "1s" })).toThrow(SluiceError)
        expect(typeof manualClock).toBe("function")
        const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: "1s" }) })
        expect((await limiter.tryAcquire("k")).allowed).toBe(true)
      })
    `,
  }
  await using consumer = await createConsumer(inject("packed"), { "package.json": files["package.json"] })
  const { folder } = consumer
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
  }
  await symlink(join(nest, "@nestjs"), join(folder, "node_modules/@nestjs"))
  await symlink(join(nest, "ts-jest"), join(folder, "node_modules/ts-jest"))
  await symlink(join(root, "node_modules/@types/jest"), join(folder, "node_modules/@types/jest"))
  for (const name of ["rxjs", "reflect-metadata"]) {
    await symlink(join(root, "node_modules", name), join(folder, "node_modules", name))
  }
  const jest = join(root, "node_modules/jest/bin/jest.js")
  await run(folder, "node", jest, "--ci", "--cacheDirectory", join(folder, "cache"))
})
