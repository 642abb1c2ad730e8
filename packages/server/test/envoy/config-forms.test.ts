import { describe, expect, test } from "vitest"
import { shouldRateLimit } from "../../src/envoy/should-rate-limit.js"
import { contextOf } from "../grpc/support/rls-server.js"

// Between them, these files have every form that the published examples of Envoy's ratelimit have.
const files: readonly (readonly [form: string, text: string, expected: readonly Expected[]])[] = [
  [
    "two values of one key",
    `
domain: warehouse
descriptors:
  - key: table
    value: parcels
    rate_limit: { unit: second, requests_per_unit: 40 }
  - key: table
    value: shelves
    rate_limit: { requests_per_unit: 30, unit: second }
`,
    [
      ["table=parcels", 40],
      ["table=shelves", 30],
      ["table=orders", undefined],
    ],
  ],
  [
    "nested descriptors beside flat ones, with comments",
    `
domain: post
descriptors:
  # Few letters of one kind
  - key: kind
    value: advert
    descriptors:
      - key: recipient
        rate_limit:
          unit: day
          requests_per_unit: 2
  # and more of all kinds
  - key: recipient
    rate_limit:
      unit: day
      requests_per_unit: 30
`,
    [
      ["kind=advert recipient=ann", 2],
      ["recipient=ann", 30],
      ["kind=advert", undefined],
    ],
  ],
  [
    "a value that is blocked",
    `
domain: door
descriptors:
  - key: visitor
    rate_limit:
      unit: minute
      requests_per_unit: 6
  - key: visitor
    value: 192.0.2.7
    rate_limit:
      unit: minute
      requests_per_unit: 0
`,
    [
      ["visitor=192.0.2.1", 6],
      ["visitor=192.0.2.7", 0],
    ],
  ],
  [
    "a depth that must match",
    `
domain: depth
descriptors:
  - key: house
    value: blue
    descriptors:
      - key: room
        rate_limit:
          requests_per_unit: 70
          unit: hour
`,
    [
      ["house=blue room=1", 70],
      ["house=blue", undefined],
      ["house=blue room=1 bed=2", undefined],
    ],
  ],
  [
    "unlimited, at the top and nested under a limit",
    `
---
domain: open
descriptors:
  - key: library
    rate_limit:
      unlimited: true
  - key: shop
    rate_limit:
      unit: minute
      requests_per_unit: 8
    descriptors:
      - key: exit
        rate_limit:
          unlimited: true
      - key: till
        value: broken
        rate_limit:
          unit: minute
          requests_per_unit: 0
      - key: till
        rate_limit:
          unit: second
          requests_per_unit: 3
`,
    [
      ["library=x", "unlimited"],
      ["shop=x", 8],
      ["shop=x exit=y", "unlimited"],
      ["shop=x till=broken", 0],
      ["shop=x till=y", 3],
    ],
  ],
  [
    "shadow mode below a key without a limit",
    `
domain: soft
descriptors:
  - key: app
    descriptors:
      - key: account
        value: ann
        rate_limit:
          requests_per_unit: 11
          unit: second
        shadow_mode: true
      - key: account
        value: bob
        rate_limit:
          requests_per_unit: 12
          unit: second
`,
    [
      ["app=web account=ann", 11],
      ["app=web account=bob", 12],
    ],
  ],
  [
    "rules that replace several others by name",
    `
domain: swap
descriptors:
  - key: plan
    value: gold
    rate_limit:
      replaces:
        - name: base
        - name: spare
      unit: MINUTE
      requests_per_unit: 9
  - key: plan
    descriptors:
      - { key: user, value: ann, rate_limit: { name: base, unit: Minute, requests_per_unit: 1 } }
      - { key: user, value: bob, rate_limit: { name: spare, unit: minute, requests_per_unit: 0 } }
`,
    [
      ["plan=gold", 9],
      ["plan=tin user=ann", 1],
      ["plan=tin user=bob", 0],
    ],
  ],
  [
    "detailed metrics beside a known value",
    `
domain: watched
descriptors:
  - key: agent
    detailed_metric: true
    rate_limit:
      unit: week
      requests_per_unit: 15
  - key: agent
    value: crawler
    rate_limit:
      unit: week
      requests_per_unit: 4
`,
    [
      ["agent=any", 15],
      ["agent=crawler", 4],
    ],
  ],
  [
    "wildcards at the end and in the middle",
    `
domain: stars
descriptors:
  - key: path
    value: /v1/*
    rate_limit:
      unit: minute
      requests_per_unit: 21
  - key: path
    value: /img/*.png
    rate_limit:
      unit: minute
      requests_per_unit: 22
`,
    [
      ["path=/v1/users", 21],
      ["path=/img/a.png", 22],
      ["path=/v2/users", undefined],
    ],
  ],
  [
    "quota mode",
    `
---
domain: allotment
descriptors:
  - key: plot
    value: north
    quota_mode: true
    rate_limit:
      unit: minute
      requests_per_unit: 2
`,
    [["plot=north", 2]],
  ],
  [
    "shared wildcards with metrics by value, and metadata",
    `
domain: shared
descriptors:
  - key: route
    value: orders/*
    share_threshold: true
    value_to_metric: true
    descriptors:
      - key: verb
        rate_limit:
          unit: month
          requests_per_unit: 61
        metadata:
          anything: { nested: [1, two] }
  - key: call
    value: a*b*c
    share_threshold: true
    rate_limit:
      unit: year
      requests_per_unit: 51
`,
    [
      ["route=orders/7 verb=GET", 61],
      ["call=a1b2c", 51],
    ],
  ],
  ["a domain without descriptors", "domain: bare\ndescriptors:\n", [["any=x", undefined]]],
]

type Expected = readonly [entries: string, limit: number | "unlimited" | undefined]

describe.each(files)("%s", (_, text, expected) => {
  test("loads unchanged and finds the limits", async () => {
    const { context, engine } = contextOf(text)
    const [domain = ""] = engine.config.domains.keys()
    for (const [words, limit] of expected) {
      const entries = words.split(" ").map((word) => {
        const [key = "", value = ""] = word.split("=")
        return { key, value }
      })
      const descriptors = [{ entries, isNegativeHits: false }]
      const { statuses } = await shouldRateLimit(context, { domain, descriptors, hitsAddend: 1 })
      const [status] = statuses
      expect([words, status?.currentLimit?.requestsPerUnit ?? status?.limitRemaining]).toEqual([
        words,
        limit === "unlimited" ? 2 ** 32 - 1 : limit,
      ])
    }
    await engine.close()
  })
})
