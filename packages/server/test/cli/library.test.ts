import { readFileSync } from "node:fs"
import { library } from "sluice/redis"
import { expect, test } from "vitest"
import { ruleIn } from "../../../sluice/test/support/rights.js"
import { aclLines } from "../../src/doctor/rights.js"
import { sluice } from "./fake-terminal.js"

test("library prints the text of the library, for FUNCTION LOAD", async () => {
  expect(await sluice(["library"])).toEqual({ code: 0, out: library.text, err: "" })
})

test("library --name prints the name alone", async () => {
  expect((await sluice(["library", "--name"])).out).toBe(`${library.name}\n`)
})

test("library --acl prints the lines of the docs", async () => {
  const { out } = await sluice(["library", "--acl"])
  for (const index of [0, 1]) expect(out).toContain(`ACL SETUSER ${ruleIn("redis.md", index).join(" ")}\n`)
  for (const [page, line] of [
    ["rules.md", aclLines.rules],
    ["top-keys.md", aclLines.topKeys],
  ] as const) {
    const text = readFileSync(new URL(`../../../../docs/${page}`, import.meta.url), "utf8")
    expect(text).toContain(`\n${line.replace("ACL SETUSER sluice ", "")}\n`)
    expect(out).toContain(line)
  }
})

test("library --json has the name, the text and the rights", async () => {
  const { out } = await sluice(["library", "--json"])
  expect(JSON.parse(out)).toEqual({ ...library, acl: aclLines })
})
