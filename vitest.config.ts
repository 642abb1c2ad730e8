import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

const source = (path: string) => fileURLToPath(new URL(`packages/sluice/src/${path}`, import.meta.url))
const serverSource = (path: string) => fileURLToPath(new URL(`packages/server/src/${path}`, import.meta.url))

const nest11 = fileURLToPath(new URL("peers/nest11/node_modules/@nestjs/$1/index.js", import.meta.url))

const project = (name: string, folders: string[], options: object = {}) => ({
  extends: true as const,
  test: { name, include: folders.map((folder) => `packages/sluice/${folder}/**/*.test.ts`), ...options },
})

export default defineConfig({
  resolve: {
    alias: [
      { find: /^sluice$/, replacement: source("index.ts") },
      { find: /^sluice\/better-auth$/, replacement: source("dropins/better-auth.ts") },
      { find: /^sluice\/express-rate-limit$/, replacement: source("dropins/express-rate-limit.ts") },
      { find: /^sluice\/fastify-rate-limit$/, replacement: source("dropins/fastify-rate-limit.ts") },
      { find: /^sluice\/nest-throttler$/, replacement: source("dropins/nest-throttler.ts") },
      { find: /^sluice\/fetch$/, replacement: source("fetch/index.ts") },
      { find: /^sluice\/express$/, replacement: source("middleware/express.ts") },
      { find: /^sluice\/fastify$/, replacement: source("middleware/fastify.ts") },
      { find: /^sluice\/hono$/, replacement: source("middleware/hono.ts") },
      { find: /^sluice\/http$/, replacement: source("http/index.ts") },
      { find: /^sluice\/koa$/, replacement: source("middleware/koa.ts") },
      { find: /^sluice\/nest$/, replacement: source("middleware/nest/index.ts") },
      { find: /^sluice\/web$/, replacement: source("middleware/web.ts") },
      { find: /^sluice\/redis$/, replacement: source("stores/redis/index.ts") },
      { find: /^sluice\/redisson$/, replacement: source("redisson/index.ts") },
      { find: /^sluice\/rules$/, replacement: source("rules/index.ts") },
      { find: /^sluice\/store$/, replacement: source("stores/index.ts") },
      { find: /^sluice\/telemetry$/, replacement: source("telemetry/index.ts") },
      { find: /^sluice\/client$/, replacement: source("client/index.ts") },
      { find: /^@sluice\/server$/, replacement: serverSource("index.ts") },
      { find: /^sluice\/testing$/, replacement: source("testing/index.ts") },
    ],
  },
  test: {
    pool: "forks",
    maxWorkers: 2,
    projects: [
      // Without a server, in less than a minute: npm run test:unit.
      project("unit", ["src", "test/unit"], { testTimeout: 30_000 }),
      project("properties", ["test/properties", "test/attacks"], { testTimeout: 60_000 }),
      project("redis", ["test/redis", "test/conformance", "test/parity", "test/seeds", "test/redisson"], {
        testTimeout: 60_000,
        hookTimeout: 60_000,
      }),
      // after everything else and one file at a time: what is held to milliseconds there must not wait for a core
      project("chaos", ["test/chaos"], {
        testTimeout: 60_000,
        hookTimeout: 60_000,
        sequence: { groupOrder: 1 },
        maxWorkers: 1,
      }),
      project("middleware", ["test/middleware", "test/nest", "test/integrations", "test/recipes"], {
        testTimeout: 30_000,
        hookTimeout: 60_000,
      }),
      // The same tests on Nest 11.
      {
        ...project("nest11", ["test/nest"], {
          testTimeout: 30_000,
          hookTimeout: 60_000,
          env: { NEST: "11" },
        }),
        resolve: { alias: [{ find: /^@nestjs\/([a-z-]+)$/, replacement: nest11 }] },
      },
      project("ops", ["test/ops"], { testTimeout: 60_000, hookTimeout: 60_000 }),
      project("dropins", ["test/dropins"], { testTimeout: 120_000, hookTimeout: 60_000 }),
      {
        extends: true as const,
        test: {
          name: "server",
          include: ["packages/server/{src,test}/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      project("simulation", ["test/simulation"], { testTimeout: 180_000, hookTimeout: 60_000 }),
      project("package", ["test/package"], {
        testTimeout: 180_000,
        hookTimeout: 60_000,
        globalSetup: "packages/sluice/test/package/pack.ts",
      }),
    ],
    coverage: {
      provider: "v8",
      include: ["packages/sluice/src/**/*.ts"],
      exclude: ["**/*.test.ts", "**/*.generated.ts"],
      reporter: ["text-summary", ["text", { skipFull: true }]],
      thresholds: { lines: 95, branches: 95, functions: 95, statements: 95 },
    },
  },
})
