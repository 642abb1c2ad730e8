// Plans from a database: the policy of a request depends on its customer.
import express from "express"
import { fixedWindow, type Policies } from "sluice"
import { rateLimit } from "sluice/express"

const plans = {
  free: { minute: fixedWindow({ limit: 2, window: "1m" }) },
  pro: {
    minute: fixedWindow({ limit: 4, window: "1m" }),
    daily: fixedWindow({ limit: 10_000, window: "1d" }),
  },
} satisfies Record<string, Policies>

const customerOf = (request: express.Request) => request.get("x-customer") ?? "anonymous"

export const app = express()

app.use(
  rateLimit({
    name: "plans",
    key: customerOf,
    policy: async (request) => plans[await planOf(customerOf(request))],
  }),
)

app.get("/", (_, response) => {
  response.send("hello")
})

/** Stands in for `SELECT plan FROM customers WHERE id = $1`. Cache it if the query is slow. */
export const database = new Map<string, keyof typeof plans>([["acme", "pro"]])
async function planOf(customer: string): Promise<keyof typeof plans> {
  return database.get(customer) ?? "free"
}
