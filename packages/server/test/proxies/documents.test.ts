import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { parse } from "yaml"
import { readConfig } from "../../src/config/read-config.js"
import { root } from "../support/program.js"

const read = (path: string) => readFileSync(join(root, path), "utf8")
const page = read("docs/proxies.md")

test.each(readdirSync(join(root, "examples/proxies")))(
  "docs/proxies.md shows examples/proxies/%s",
  (name) => {
    const text = read(`examples/proxies/${name}`).trim()
    expect(page).toContain(text)
  },
)

test("the Traefik example asks for limiters that sluice.yaml has", () => {
  const { limiters } = readConfig([{ name: "sluice.yaml", text: read("examples/proxies/sluice.yaml") }])
  const { http } = parse(read("examples/proxies/traefik.yaml")) as {
    http: { middlewares: Record<string, { forwardAuth: { address: string } }> }
  }
  const asked = Object.values(http.middlewares).map(({ forwardAuth }) => new URL(forwardAuth.address))
  expect(asked.map(({ pathname }) => pathname)).toEqual(
    [...limiters.keys()].map((name) => `/v1/forward-auth/${name}`),
  )
  expect(asked.map(({ search }) => search)).toEqual(["", "?by=header:x-api-key"])
})
