import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

const source = (path: string) => fileURLToPath(new URL(`packages/sluice/src/${path}`, import.meta.url))

const project = (name: string, folders: string[], options: object = {}) => ({
  extends: true as const,
  test: { name, include: folders.map((folder) => `packages/sluice/${folder}/**/*.test.ts`), ...options },
})

export default defineConfig({
  resolve: {
    alias: [
      { find: /^sluice$/, replacement: source("index.ts") },
      { find: /^sluice\/fetch$/, replacement: source("fetch/index.ts") },
      { find: /^sluice\/redis$/, replacement: source("stores/redis/index.ts") },
      { find: /^sluice\/redisson$/, replacement: source("redisson/index.ts") },
      { find: /^sluice\/testing$/, replacement: source("testing/index.ts") },
    ],
  },
  test: {
    pool: "forks",
    maxWorkers: 2,
    projects: [
      project("unit", ["src", "test/unit", "test/properties"], { testTimeout: 30_000 }),
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
      project("simulation", ["test/simulation"], { testTimeout: 180_000, hookTimeout: 60_000 }),
      project("package", ["test/package"], {
        testTimeout: 180_000,
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
