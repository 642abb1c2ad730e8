import { expect, inject, test } from "vitest"
import { createConsumer, run } from "./consumer.js"

test("a process that imports and requires the package has two copies of its code and one of its state", async () => {
  await using consumer = await createConsumer(inject("packed"), {
    "main.js": `
      import assert from "node:assert/strict"
      import { createRequire } from "node:module"
      import * as esm from "sluice"
      import * as express from "sluice/express"
      import * as http from "sluice/http"
      import * as redisson from "sluice/redisson"
      import * as testing from "sluice/testing"
      const require = createRequire(import.meta.url)
      const cjs = require("sluice")
      assert.notEqual(esm.createLimiter, cjs.createLimiter)

      // An error of one copy is an instance of the other's class; a subclass is told from its parent.
      class Mine extends esm.SluiceError {}
      const thrown = (run) => { try { run() } catch (error) { return error } }
      const wrong = thrown(() => cjs.fixedWindow({ limit: 0, window: "1s" }))
      assert(wrong instanceof esm.SluiceError && wrong instanceof cjs.SluiceError && wrong instanceof Error)
      assert(!(wrong instanceof Mine) && !(new Error("x") instanceof esm.SluiceError) && !(null instanceof esm.SluiceError))
      assert(new Mine("CLOSED", "x") instanceof Mine && new Mine("CLOSED", "x") instanceof cjs.SluiceError)

      // A name means one thing on a store, whichever copy took it.
      const store = esm.memoryStore()
      const policy = esm.fixedWindow({ limit: 3, window: "1h" })
      const one = esm.createLimiter({ name: "api", policy, store })
      const other = thrown(() => cjs.createLimiter({ name: "api", policy: cjs.fixedWindow({ limit: 4, window: "1h" }), store }))
      assert.equal(other.code, "NAME_TAKEN")
      const two = cjs.createLimiter({ name: "api", policy, store })
      await one.tryAcquire("k")
      assert.equal((await two.tryAcquire("k")).remaining, 1)

      // Claims of both are combined.
      const users = cjs.createLimiter({ name: "users", policy, store })
      assert.equal((await esm.combine([one.on("k"), users.on("u")]).tryAcquire()).allowed, true)
      assert.equal((await cjs.combine([one.on("k"), users.on("u")]).tryAcquire()).allowed, false)

      // One deny cache over a remote store: a refund through one copy is seen by the other.
      let decided = 0
      const far = { ...testing.manualClock && esm.memoryStore(), remote: true }
      const decide = far.decide
      far.decide = (request) => { decided += 1; return Promise.resolve(decide(request)) }
      const here = esm.createLimiter({ name: "far", policy, store: far })
      const there = cjs.createLimiter({ name: "far", policy, store: far })
      for (let i = 0; i < 4; i += 1) await here.tryAcquire("k")
      assert.equal(decided, 4)
      assert.equal((await there.tryAcquire("k")).source, "cache")
      await there.refund("k", 1)
      assert.equal((await here.tryAcquire("k")).allowed, true)

      // A decision on a request is found by the other copy's decisionOf.
      const request = { method: "GET", url: "/", headers: {}, socket: { remoteAddress: "10.0.0.1" }, get: () => undefined }
      const response = { setHeader() {}, getHeader() {}, once() {}, on() {}, removeHeader() {} }
      await new Promise((resolve) => require("sluice/express").rateLimit({ policy, key: () => "k" })(request, response, resolve))
      assert.equal(http.decisionOf(request)?.remaining, 2)
      console.log("one state")
    `,
  })
  expect(await run(consumer.folder, "node", "main.js")).toBe("one state\n")
})
