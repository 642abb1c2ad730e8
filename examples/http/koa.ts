// A Koa application in which a request that is over the limit waits up to two seconds for its turn.
import type { AddressInfo } from "node:net"
import Koa from "koa"
import { leakyBucket } from "sluice"
import { rateLimit } from "sluice/koa"

const app = new Koa()

app.use(
  rateLimit({
    policy: leakyBucket({ capacity: 10, leak: 10, every: "1s" }),
    wait: "2s",
  }),
)

app.use((ctx) => {
  ctx.body = "your turn"
})

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
