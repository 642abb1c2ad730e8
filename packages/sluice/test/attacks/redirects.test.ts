import { expect, test } from "vitest"
import { fetching } from "../support/fetching.js"
import { until } from "../support/watched-clock.js"

const rig = fetching()
const { upstream, limited } = rig

const refusing = { status: 429, headers: { "retry-after": 30 } }

test("a redirect that ends in 429 pauses the host that answered, not the one that redirected", async () => {
  const partner = await upstream(refusing, {})
  const innocent = await upstream({ status: 302, headers: { location: partner.url } }, {}, {})
  const fetch = limited({ retries: 0 })
  expect((await fetch(innocent.url)).status).toBe(429)
  expect((await fetch(innocent.url)).status).toBe(200)
  const held = fetch(partner.url)
  await until(() => rig.clock.waiting === 1)
  rig.clock.advance(31_001)
  expect((await held).status).toBe(200)
})

test("the key function gets the request to the host that answered, without the credential", async () => {
  const partner = await upstream(refusing)
  const innocent = await upstream({ status: 302, headers: { location: partner.url } }, {}, {})
  const keys: string[] = []
  const key = ({ url, headers }: Request) => {
    const told = `${new URL(url).host} ${headers.get("authorization")}`
    keys.push(told)
    return told
  }
  const fetch = limited({ retries: 0, key })
  const send = () => fetch(innocent.url, { headers: { authorization: "tenant 1" } })
  await send()
  expect(keys).toEqual([`${new URL(innocent.url).host} tenant 1`, `${new URL(partner.url).host} null`])
  expect((await send()).status).toBe(200)
})

test("if the key function throws for a redirect, the key of the call is paused", async () => {
  const partner = await upstream(refusing)
  const innocent = await upstream({ status: 302, headers: { location: partner.url } }, {})
  const key = ({ url }: Request) => {
    if (url.startsWith(partner.url)) throw new Error("no such tenant")
    return "tenant"
  }
  const fetch = limited({ retries: 0, key })
  expect((await fetch(innocent.url)).status).toBe(429)
  const held = fetch(innocent.url)
  await until(() => rig.clock.waiting === 1)
  rig.clock.advance(31_001)
  expect((await held).status).toBe(200)
})
