import { fileURLToPath } from "node:url"
import { runInNewContext } from "node:vm"
import { build, type Plugin } from "esbuild"
import { expect, test } from "vitest"

const entry = fileURLToPath(new URL("../../src/index.ts", import.meta.url))

/** Notes which files import modules of Node. */
function withoutNode(importers: string[]): Plugin {
  return {
    name: "without-node",
    setup({ onResolve }) {
      onResolve({ filter: /^node:/ }, ({ importer, path }) => {
        importers.push(importer.slice(importer.indexOf("/src/") + 5))
        return { path, external: true }
      })
    },
  }
}

async function bundled(importers: string[] = []): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    platform: "browser",
    format: "iife",
    globalName: "sluice",
    write: false,
    plugins: [withoutNode(importers)],
  })
  return outputFiles[0]?.text ?? ""
}

test("the core imports no module of Node", async () => {
  const importers: string[] = []
  await bundled(importers)
  expect(importers).toEqual([])
})

test("the core runs where there is no Buffer, process or setImmediate, and no randomness at module scope", async () => {
  let isLoading = true
  const warnings: string[] = []
  const context = {
    // Cloudflare Workers behave like this.
    crypto: {
      getRandomValues<T extends ArrayBufferView>(array: T): T {
        if (isLoading) throw new Error("no randomness in global scope")
        return globalThis.crypto.getRandomValues(array as never)
      },
    },
    performance,
    console: { warn: (message: string) => warnings.push(message) },
    setTimeout,
    clearTimeout,
    btoa,
    TextEncoder,
    URLSearchParams,
    result: undefined as unknown,
  }
  const code = await bundled()
  runInNewContext(code, context)
  isLoading = false
  const use = `
    var limiter = sluice.createLimiter({ policy: sluice.tokenBucket({ capacity: 3, refill: 1, every: "1s" }) })
    var down = () => Promise.reject(new Error("down"))
    var store = { remote: true, decide: down, giveBack: down, leave: down, settle: down, forget: down }
    var far = sluice.createLimiter({
      name: "far",
      policy: sluice.fixedWindow({ limit: 5, window: "1m" }),
      store,
      outage: { then: "open", deadline: 50, onChange() { throw new Error("a listener that fails") } },
    })
    result = (async () => [
      ...(await Promise.all(Array.from({ length: 20 }, () => far.tryAcquire("k")))).map((each) => each.source).slice(19),
      (await far.tryAcquire("k")).allowed,
      (await limiter.tryAcquire("%".repeat(1_000))).remaining,
      await (await limiter.reserve("k")).cancel(),
      (await limiter.acquire("k")).remaining,
    ])()
  `
  runInNewContext(`${code}\n${use}`, context)
  expect(await context.result).toEqual(["fallback", true, 2, true, 2])
  expect(warnings.join()).toContain("a listener that fails")
})
