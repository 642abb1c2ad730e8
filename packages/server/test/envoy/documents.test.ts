import { readFileSync } from "node:fs"
import Fastify from "fastify"
import { describe, expect, test } from "vitest"
import { parse } from "yaml"
import { envoyJson } from "../../src/envoy/json-route.js"
import { contextOf } from "../grpc/support/rls-server.js"

const page = readFileSync(new URL("../../../../docs/envoy.md", import.meta.url), "utf8")
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, "gms"))].map(([, text = ""]) => text)

describe("docs/envoy.md", () => {
  const files = blocks("yaml").filter((text) => /^domain:/m.test(text))

  test("has three configurations of the server, and its parts of Envoy's are YAML", () => {
    expect(files).toHaveLength(3)
    for (const text of blocks("yaml")) expect(parse(text)).toBeTypeOf("object")
  })

  test.each(files)("a configuration in it loads: %s", async (text) => {
    const { engine } = contextOf(text)
    expect(engine.config.domains.size).toBe(1)
    await engine.close()
  })

  test("its curl command is answered with 200 by its first configuration", async () => {
    const { context, engine } = contextOf(files[0] ?? "")
    const app = Fastify()
    await app.register(envoyJson(context))
    const [, body = ""] = /-d '([^']+)'/.exec(page) ?? []
    const headers = { "content-type": "application/json" }
    const { statusCode, json } = await app.inject({ method: "POST", url: "/json", headers, payload: body })
    expect([statusCode, json().statuses[0].limitRemaining]).toEqual([200, 99])
    await app.close()
    await engine.close()
  })

  test("the limiter and key of its commands are those that the request of its curl command counts under", async () => {
    const { engine } = contextOf(files[0] ?? "")
    const [, name = "", key = ""] = /^sluice inspect (\S+) (\S+)$/m.exec(page) ?? []
    expect(engine.limiter(name)).toBeDefined()
    expect(key).toBe("remote_address=192.0.2.1")
    await engine.close()
  })
})
